"""Record batches as a producer would build them."""

from typing import Any

from moldau.clock import SystemClock
from moldau.record.records import BatchBuilder


def batch(*values: bytes | None, key: bytes | None = None, **fields: Any) -> bytes:
    """One batch with ``values`` and the current time; ``fields`` are passed to the builder."""
    timestamp = fields.pop("timestamp", None)
    headers = fields.pop("headers", ())
    if timestamp is None:
        timestamp = SystemClock().wall_ms()
    builder = BatchBuilder(**fields)
    for value in values:
        builder.append(timestamp, key, value, headers)
    return builder.build()


def idempotent(
    producer_id: int, sequence: int, *values: bytes, epoch: int = 0, key: bytes | None = None
) -> bytes:
    return batch(
        *values,
        key=key,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
