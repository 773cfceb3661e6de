"""What a reader of committed records makes of a fetch response."""

from moldau.protocol.messages.fetch import AbortedTransaction
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.records import BatchBuilder
from moldau.simulator.clients.transactional_reader import committed_records

FIRST, SECOND = 7, 8


def batch(offset: int, *values: bytes, producer_id: int = -1) -> bytes:
    builder = BatchBuilder(
        base_offset=offset, producer_id=producer_id, is_transactional=producer_id >= 0
    )
    for value in values:
        builder.append(0, None, value, ())
    return builder.build()


def marker(offset: int, producer_id: int, control_type: ControlType) -> bytes:
    return end_txn_batch(control_type, 0, producer_id, 0, 0, base_offset=offset)


def test_markers_are_left_out_and_positions_go_past_them() -> None:
    data = batch(0, b"a", b"b", producer_id=FIRST) + marker(2, FIRST, ControlType.COMMIT)
    assert committed_records(data, [], 0) == (((0, b"a"), (1, b"b")), 3)


def test_an_aborted_transaction_is_left_out_up_to_its_marker() -> None:
    data = (
        batch(0, b"aborted", producer_id=FIRST)
        + batch(1, b"other", producer_id=SECOND)
        + batch(2, b"aborted too", producer_id=FIRST)
        + marker(3, FIRST, ControlType.ABORT)
        + batch(4, b"next", producer_id=FIRST)
        + batch(5, b"plain")
    )
    aborted = [AbortedTransaction(FIRST, 0)]
    assert committed_records(data, aborted, 0) == (((1, b"other"), (4, b"next"), (5, b"plain")), 6)


def test_the_list_names_a_transaction_that_begins_later_in_the_response() -> None:
    data = (
        batch(0, b"committed", producer_id=FIRST)
        + marker(1, FIRST, ControlType.COMMIT)
        + batch(2, b"aborted", producer_id=FIRST)
        + marker(3, FIRST, ControlType.ABORT)
    )
    assert committed_records(data, [AbortedTransaction(FIRST, 2)], 0) == (((0, b"committed"),), 4)


def test_a_transaction_that_began_before_the_response_is_left_out() -> None:
    data = batch(5, b"aborted", producer_id=FIRST) + marker(6, FIRST, ControlType.ABORT)
    assert committed_records(data, [AbortedTransaction(FIRST, 1)], 5) == ((), 7)


def test_records_before_the_position_are_left_out() -> None:
    assert committed_records(batch(0, b"a", b"b", b"c"), [], 1) == (((1, b"b"), (2, b"c")), 3)
    assert committed_records(b"", [], 4) == ((), 4)
