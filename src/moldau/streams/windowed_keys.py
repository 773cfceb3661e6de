"""The key of a windowed row in a topic, in the format of Kafka Streams.

The bytes of the key are followed by the start of the window in milliseconds, big-endian; for a
session, by its end and then its start. So every window of a key is a separate key, a compacted
topic keeps the latest value of each, and the windowed deserializers of Kafka Streams can read it.
"""

from typing import TYPE_CHECKING, Any

from moldau.streams.serdes import LONG, Serde, default_serde

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_TIME_BYTES = 8


class WindowedKey(Serde):
    """A serde for key and window together; the default of ``inner`` depends on the key's type.

    In Python the key is ``(key, start_ms)``, for a session ``(key, start_ms, end_ms)``.
    """

    def __init__(self, inner: Serde | None, *, is_session: bool = False) -> None:
        self.inner = inner
        self.is_session = is_session
        kind = "session" if is_session else "window"
        self.name = f"{inner} and {kind}" if inner is not None else f"key and {kind}"

    def decode(self, raw: "Column") -> "Column":
        raise NotImplementedError("a windowed topic is read as bytes or by another serde")

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        """``value`` is a struct of key and window; ``value_type`` the type of its key."""
        from pyspark.sql import functions as F

        inner = self.inner or default_serde(value_type)
        window = value["window"]
        times = [window["end"], window["start"]] if self.is_session else [window["start"]]
        parts = [LONG.encode(F.unix_millis(time), value_type) for time in times]
        # A null key stays null: the bytes of the window alone would look like a key.
        return F.concat(inner.encode(value["key"], value_type), *parts)

    def loads(self, data: bytes) -> tuple[Any, ...]:
        from moldau.streams.serdes import BYTES

        inner = self.inner or BYTES
        count = 2 if self.is_session else 1
        end = len(data) - count * _TIME_BYTES
        if end < 0:
            raise ValueError(f"{len(data)} bytes are too few for a window")
        times = [LONG.loads(data[at : at + _TIME_BYTES]) for at in range(end, len(data), 8)]
        # The start comes last in the bytes, and first in the tuple.
        return (inner.loads(data[:end]), *reversed(times))

    def dumps(self, value: tuple[Any, ...]) -> bytes:
        from moldau.streams.serdes import BYTES

        inner = self.inner or BYTES
        key, *times = value
        return inner.dumps(key) + b"".join(LONG.dumps(time) for time in reversed(times))
