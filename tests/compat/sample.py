"""Records that a client and a broker must carry unharmed, and how to compare them."""

import random
import time
from collections.abc import Callable

from tests.compat.clients.base import Client, ClientError, Record

PARTITIONS = 10
LARGE_VALUE_BYTES = 900_000


def sample_records(client: Client, seed: int = 0) -> list[Record]:
    """Text, binary, empty, null and large values, keys, headers and timestamps on 10 partitions.

    Timestamps lie in the last hour, whole milliseconds, out of order: old enough to be told from
    the time of writing, young enough not to fall to retention while the test runs.
    """
    rng = random.Random(seed)
    base_timestamp = int(time.time() * 1000) - 3_600_000
    long_text = "a line that compresses well, " * 500
    headers: list[tuple[tuple[str, bytes | None], ...]] = [
        (),
        (("one", b"1"),),
        (("trace-id", rng.randbytes(16)), ("empty", b""), ("name", "Vltava, česky".encode())),
        tuple((f"header-{n}", str(n).encode()) for n in range(20)),
    ]
    if client.sends_null_headers:
        headers.append((("nothing", None), ("something", b"x")))
    contents: list[tuple[bytes | None, bytes | None]] = [
        (None, b"no key"),
        (b"key", b"value"),
        (b"tombstone", None),
        (b"", b"the key is empty"),
        (b"the value is empty", b""),
        (bytes(range(256)), bytes(range(256))),
        ("klíč".encode(), "hodnota 🌊".encode()),
        (b"compressible", long_text.encode()),
        (b"random", rng.randbytes(5000)),
        (rng.randbytes(2000), b"a long key"),
    ]
    records = [
        Record(
            partition=(index + turn) % PARTITIONS,
            key=key,
            value=value,
            headers=headers[(index + turn) % len(headers)],
            timestamp=base_timestamp + rng.randrange(3_000_000),
        )
        for turn in range(3)
        for index, (key, value) in enumerate(contents)
    ]
    large = Record(3, b"large", rng.randbytes(LARGE_VALUE_BYTES), (), base_timestamp)
    return [*records, large]


def text_records(count: int, partition: int = 0, prefix: str = "record") -> list[Record]:
    """Plain records, a second apart, ending a minute ago."""
    end = int(time.time() * 1000) - 60_000
    return [
        Record(
            partition=partition,
            key=f"key-{number}".encode(),
            value=f"{prefix}-{number}".encode(),
            headers=(),
            timestamp=end - (count - number) * 1000,
        )
        for number in range(count)
    ]


def wait_until(holds: Callable[[], bool], limit_s: float = 120.0) -> None:
    """Ask until it holds: a change reaches a broker and a client's cache a moment after its answer.

    A failure the client reports meanwhile counts as "not yet".
    """
    deadline = time.monotonic() + limit_s
    while True:
        failure: ClientError | None = None
        try:
            if holds():
                return
        except ClientError as reported:
            failure = reported
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not come to hold in {limit_s} s") from failure
        time.sleep(0.05)


def with_offsets(records: list[Record], offsets: list[int]) -> list[Record]:
    return [record._replace(offset=offset) for record, offset in zip(records, offsets, strict=True)]


def read_back(client: Client, topic: str, written: list[Record]) -> list[Record]:
    """What ``client`` finds where ``written`` should be: every partition from its first offset."""
    starts = dict.fromkeys(sorted({record.partition for record in written}), 0)
    return client.consume(topic, starts, len(written))


def assert_same_records(found: list[Record], written: list[Record]) -> None:
    """Equal record by record, told without printing large values."""

    def by_place(record: Record) -> tuple[int, int]:
        return record.partition, record.offset

    found, written = sorted(found, key=by_place), sorted(written, key=by_place)
    assert [by_place(record) for record in found] == [by_place(record) for record in written]
    for one, other in zip(found, written, strict=True):
        assert _short(one) == _short(other)
        assert one == other


def _short(record: Record) -> Record:
    value = record.value
    return record if value is None else record._replace(value=value[:200])
