"""The output of Spark's Python processes without values of config providers.

Nobody sets up logging there: warnings of connectors and libraries go to standard error, and from
there to the log of the worker or of an executor. So it is the stream that leaves them out.
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from moldau.connect.providers import hidden, keep_hidden

_STREAMS: Final = ("stdout", "stderr")


class HidingStream:
    """A text stream that passes on what is written to it, without values of config providers."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(hidden(text))
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
