"""What the compatibility tests ask of a client, whatever library and language it is.

One small surface over many libraries, so that every test runs through every one of them. A client
keeps its library's default settings; a test that needs another setting names it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

LATEST = -1
EARLIEST = -2
NOT_FOUND = -1


class Record(NamedTuple):
    """A record as a user sees it; ``offset`` is -1 until the broker gave it one."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    offset: int = -1


class ClientError(Exception):
    """A failure as the library reported it, with the Kafka error code it carried (-1: none)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} (code {code})")
        self.code = code


class Client:
    """A library under test, connected to one broker."""

    name: ClassVar[str]
    codecs: ClassVar[tuple[str, ...]] = CODECS
    # Some libraries refuse to send a header without a value, which the protocol allows.
    sends_null_headers: ClassVar[bool] = True

    version = ""

    def close(self) -> None:
        """Let go of connections and processes."""

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        raise NotImplementedError

    def delete_topic(self, topic: str) -> None:
        raise NotImplementedError

    def list_topics(self) -> set[str]:
        raise NotImplementedError

    def topic_config(self, topic: str) -> dict[str, str]:
        raise NotImplementedError

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        raise NotImplementedError

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: str | None = None,
        acks: str | None = None,
    ) -> list[int]:
        """Send the records in order; gives their offsets (-1 each for acks=0)."""
        raise NotImplementedError

    def consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        """``count`` records or more, from an offset for each partition; fewer after 30 s."""
        raise NotImplementedError

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Record]:
        raise NotImplementedError

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """The first offset at or after ``timestamp``, or of LATEST or EARLIEST, or NOT_FOUND."""
        raise NotImplementedError
