"""The output of Spark's Python processes without values of config providers.

Nobody sets up logging there: warnings of connectors and libraries go to standard error, and from
there to the log of the worker or of an executor. So it is the stream that leaves them out.

A value may come in parts, in several writes. So what may be the beginning of one is held back until
the next write shows whether it is, even if the stream is flushed.
"""

import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from moldau.connect.providers import hidden_so_far, keep_hidden

_STREAMS: Final = ("stdout", "stderr")


class HidingStream:
    """A text stream that passes on what is written to it, without values of config providers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._held = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        with self._lock:
            shown, self._held = hidden_so_far(self._held + text)
            if shown:
                self._stream.write(shown)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def hide_in_output(secrets: Mapping[str, str]) -> None:
    """Leave ``secrets`` out of what this process writes from now on; see ``ConnectorSpec``.

    For each task anew: Spark may replace the streams of a task and put the old ones back.
    """
    keep_hidden(secrets)
    for name in _STREAMS:
        stream = getattr(sys, name)
        if secrets and stream is not None and not isinstance(stream, HidingStream):
            setattr(sys, name, HidingStream(stream))
