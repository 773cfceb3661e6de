"""What the batches of a log say of its producers and transactions."""

from moldau.record.control import ControlType, end_txn_batch
from moldau.record.records import BatchBuilder
from moldau.simulator.transaction_invariants import ReplayedAbort, ReplayedProducer, replay

FIRST, SECOND = 7, 8


def batch(offset: int, producer_id: int, sequence: int, *, epoch: int = 0, count: int = 2) -> bytes:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    for _ in range(count):
        builder.append(0, None, b"value", ())
    return builder.build()


def marker(offset: int, producer_id: int, control_type: ControlType, epoch: int = 0) -> bytes:
    return end_txn_batch(control_type, 0, producer_id, epoch, 0, base_offset=offset)


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    data = batch(0, FIRST, 0) + batch(2, SECOND, 0) + batch(4, FIRST, 2)
    found = replay(data)
    assert found.producers == {
        FIRST: ReplayedProducer(0, 3, 5, 0),
        SECOND: ReplayedProducer(0, 1, 3, 2),
    }
    assert found.last_stable_offset(6) == 0
    assert replay(data + marker(6, FIRST, ControlType.COMMIT)).last_stable_offset(7) == 2


def test_a_transaction_is_stable_when_its_marker_is_below_the_high_watermark() -> None:
    found = replay(batch(0, FIRST, 0) + marker(2, FIRST, ControlType.COMMIT))
    assert found.last_stable_offset(2) == 0
    assert found.last_stable_offset(3) == 3


def test_an_aborted_transaction_ends_at_its_marker() -> None:
    data = batch(0, FIRST, 0) + marker(2, FIRST, ControlType.ABORT)
    found = replay(data)
    assert found.aborted == [ReplayedAbort(FIRST, 0, 2)]
    assert found.last_stable_offset(3) == 3


def test_an_empty_transaction_is_not_among_the_aborted() -> None:
    assert replay(marker(0, FIRST, ControlType.ABORT)).aborted == []


def test_a_marker_of_the_next_epoch_ends_the_transaction_and_its_sequences() -> None:
    data = batch(0, FIRST, 0) + marker(2, FIRST, ControlType.COMMIT, epoch=1)
    assert replay(data).producers == {FIRST: ReplayedProducer(1, -1, -1, -1)}
    data += batch(3, FIRST, 0, epoch=1)
    assert replay(data).producers == {FIRST: ReplayedProducer(1, 1, 4, 3)}
