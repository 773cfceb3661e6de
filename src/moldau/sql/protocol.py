"""The conversation of ``moldau sql`` with the process that runs its queries.

Frames of JSON with their length in front, over a Unix socket. The client says hello with its
settings, then sends one request at a time; a result comes as several frames, the last of which is
``done`` or ``error``. ``cancel`` may be sent while a result is under way.

Server and client are always of the same version: the name of the socket contains it, and ``hello``
repeats it.
"""

import json
import socket
import struct
from typing import Any, Final

from moldau.sql.errors import Cancelled, Span, SqlError
from moldau.sql.results import Column, Sink

# To be changed with every change of the frames.
PROTOCOL: Final = 1
_LENGTH: Final = struct.Struct(">I")
_MAX_BYTES: Final = 256 << 20

Frame = dict[str, Any]


class Ended(Exception):  # noqa: N818  # what happened
    """The other side is gone."""


class Channel:
    """Sends and receives frames over a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, kind: str, **values: Any) -> None:
        """Raises Ended."""
        body = json.dumps({"kind": kind, **values}, ensure_ascii=False).encode("utf-8", "replace")
        try:
            self._connection.sendall(_LENGTH.pack(len(body)) + body)
        except OSError:
            raise Ended from None

    def receive(self) -> Frame:
        """Raises Ended."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > _MAX_BYTES:
            raise Ended
        frame = json.loads(self._exactly(length))
        if not isinstance(frame, dict):
            raise Ended
        return frame

    def close(self) -> None:
        self._connection.close()

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._connection.recv(min(size - len(parts), 1 << 20))
            except OSError:
                raise Ended from None
            if not part:
                raise Ended
            parts += part
        return bytes(parts)


class ChannelSink:
    """Sends a result to the client."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def columns(self, columns: Any) -> None:
        self._channel.send("columns", columns=[list(each) for each in columns])

    def rows(self, rows: Any) -> None:
        self._channel.send("rows", rows=[list(each) for each in rows])

    def lines(self, lines: Any) -> None:
        self._channel.send("lines", lines=list(lines))

    def note(self, text: str) -> None:
        self._channel.send("note", text=text)

    def failed(self, error: SqlError) -> None:
        self._channel.send(
            "error",
            message=error.message,
            remedy=error.remedy,
            span=error.span,
            cancelled=isinstance(error, Cancelled),
        )


def pass_on(frame: Frame, sink: Sink) -> bool:
    """Pass a frame of a result to ``sink``; returns whether it was the last one.

    Raises:
        SqlError: the frame is an error.
    """
    kind = frame["kind"]
    if kind == "columns":
        sink.columns([Column(*each) for each in frame["columns"]])
    elif kind == "rows":
        sink.rows(frame["rows"])
    elif kind == "lines":
        sink.lines(frame["lines"])
    elif kind == "note":
        sink.note(frame["text"])
    elif kind == "error":
        span = None if frame["span"] is None else Span(*frame["span"])
        error = Cancelled if frame["cancelled"] else SqlError
        raise error(frame["message"], frame["remedy"], span)
    return bool(kind == "done")
