"""Hand-written histories of transactions, each with one anomaly, or with none."""

from collections.abc import Iterable, Sequence

from moldau.ids import TopicPartition
from moldau.simulator.transaction_anomalies import (
    Anomaly,
    Kind,
    find_anomalies,
    find_copy_anomalies,
)
from moldau.simulator.transaction_history import (
    UNKNOWN_OFFSET,
    Outcome,
    Poll,
    Transaction,
    TransactionHistory,
)

A, B = TopicPartition("records", 0), TopicPartition("records", 1)
Records = tuple[tuple[int, bytes], ...]


class Story:
    """A history in the making: time passes with every step."""

    def __init__(self) -> None:
        self.history = TransactionHistory()
        self._now_us = 0

    def sends(self, producer: str, *sent: tuple[TopicPartition, bytes, int]) -> Transaction:
        transaction = self.history.begin(producer)
        for topic_partition, value, offset in sent:
            transaction.will_send(topic_partition, value)
            transaction.was_sent(topic_partition, value, offset)
        return transaction

    def commits(self, transaction: Transaction, *, is_answered: bool = True) -> None:
        transaction.will_commit(self._tick())
        if is_answered:
            transaction.has_committed()
        else:
            transaction.has_ended()

    def polls(
        self, at: TopicPartition, position: int, records: Records, end: int, reader: str = "r"
    ) -> None:
        self.history.polled(Poll(reader, self._tick(), at, position, records, end))

    def found(self, *finals: tuple[TopicPartition, Records]) -> list[Anomaly]:
        return find_anomalies(self.history, dict(finals))

    def _tick(self) -> int:
        self._now_us += 1
        return self._now_us


def kinds(anomalies: Iterable[Anomaly]) -> list[Kind]:
    return [each.kind for each in anomalies]


def test_a_history_of_commits_and_aborts_has_no_anomaly() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0), (B, b"2", 0)))
    story.sends("p", (A, b"3", 2)).has_ended()
    story.commits(story.sends("p", (A, b"4", 4)))
    story.polls(A, 0, ((0, b"1"),), 4)
    story.polls(A, 4, ((4, b"4"),), 6)
    assert story.found((A, ((0, b"1"), (4, b"4"))), (B, ((0, b"2"),))) == []


def test_an_unanswered_commit_may_count_or_not() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0)), is_answered=False)
    assert story.found((A, ((0, b"1"),))) == []
    assert story.found((A, ())) == []


def test_a_committed_record_that_is_not_there_is_a_lost_write() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0)))
    (anomaly,) = story.found((A, ()))
    assert str(anomaly) == "lost write: b'1' was committed in records-0 and is not there"


def test_one_record_at_two_offsets_is_a_duplicate() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0)))
    (anomaly,) = story.found((A, ((0, b"1"), (1, b"1"))))
    assert str(anomaly) == "duplicate: b'1' is at 0 of records-0, and at 1"


def test_two_records_at_one_offset_are_inconsistent() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0)))
    story.commits(story.sends("q", (A, b"2", UNKNOWN_OFFSET)))
    story.polls(A, 0, ((0, b"2"),), 1)
    assert kinds(story.found((A, ((0, b"1"), (2, b"2"))))) == [
        Kind.INCONSISTENT_OFFSET,
        Kind.INCONSISTENT_OFFSET,
        Kind.DUPLICATE,
    ]


def test_a_record_that_was_never_to_be_committed_is_an_aborted_read() -> None:
    story = Story()
    story.sends("p", (A, b"1", 0)).has_ended()
    story.polls(A, 0, ((0, b"1"),), 1)
    (anomaly,) = story.found((A, ()))
    assert str(anomaly) == "aborted read: r saw b'1' at 0 of records-0, which p did not commit"


def test_a_record_of_a_refused_commit_is_an_aborted_read() -> None:
    story = Story()
    transaction = story.sends("p", (A, b"1", 0))
    transaction.will_commit(1)
    transaction.was_refused()
    assert transaction.outcome is Outcome.ABORTED
    assert kinds(story.found((A, ((0, b"1"),)))) == [Kind.ABORTED_READ]


def test_a_late_record_of_an_aborted_transaction_is_an_aborted_read() -> None:
    story = Story()
    transaction = story.history.begin("p")
    transaction.will_send(A, b"late")
    transaction.has_ended()
    assert kinds(story.found((A, ((0, b"late"),)))) == [Kind.ABORTED_READ]


def test_a_record_of_nobody_is_an_aborted_read() -> None:
    story = Story()
    (anomaly,) = story.found((A, ((0, b"1"),)))
    assert anomaly.kind is Kind.ABORTED_READ
    assert "which nobody has sent" in anomaly.what


def test_a_record_that_is_seen_before_its_commit_was_sent_is_a_precommitted_read() -> None:
    story = Story()
    transaction = story.sends("p", (A, b"1", 0))
    story.polls(A, 0, ((0, b"1"),), 1)
    story.commits(transaction)
    (anomaly,) = story.found((A, ((0, b"1"),)))
    assert str(anomaly) == (
        "precommitted read: r saw b'1' at 0 of records-0, 1 us before p committed it"
    )


def test_a_record_of_an_open_transaction_is_a_precommitted_read() -> None:
    story = Story()
    story.sends("p", (A, b"1", 0))
    story.polls(A, 0, ((0, b"1"),), 1)
    assert kinds(story.found((A, ()))) == [Kind.PRECOMMITTED_READ]


def test_half_of_a_transaction_is_torn_also_if_its_outcome_is_unknown() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0), (B, b"2", 0)), is_answered=False)
    (anomaly,) = story.found((A, ((0, b"1"),)), (B, ()))
    assert str(anomaly) == (
        "torn transaction: 1 of 2 records of one transaction of p are there, b'1' is one of them"
    )


def test_going_past_a_committed_record_is_a_poll_skip() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0), (A, b"2", 1), (A, b"3", 2)))
    story.polls(A, 0, ((0, b"1"), (2, b"3")), 3)
    (anomaly,) = story.found((A, ((0, b"1"), (1, b"2"), (2, b"3"))))
    assert str(anomaly) == "poll skip: r went past b'2' at 1 of records-0"


def test_a_poll_of_nothing_that_goes_past_a_committed_record_is_a_poll_skip() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0)))
    story.polls(A, 0, (), 1)
    assert kinds(story.found((A, ((0, b"1"),)))) == [Kind.POLL_SKIP]


def test_a_reader_that_goes_back_is_non_monotonic() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0), (A, b"2", 1)))
    story.polls(A, 0, ((0, b"1"), (1, b"2")), 2)
    story.polls(A, 1, ((1, b"2"),), 2)
    story.polls(A, 0, ((0, b"1"),), 1, reader="another reader, who begins")
    (anomaly,) = story.found((A, ((0, b"1"), (1, b"2"))))
    assert str(anomaly) == "non-monotonic: r went from 2 to 1 of records-0"


def test_records_of_a_poll_in_another_order_are_non_monotonic() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 0), (A, b"2", 1)))
    story.polls(A, 0, ((1, b"2"), (0, b"1")), 2)
    assert kinds(story.found((A, ((0, b"1"), (1, b"2"))))) == [Kind.NON_MONOTONIC]


def test_records_of_a_producer_in_another_order_are_non_monotonic() -> None:
    story = Story()
    story.commits(story.sends("p", (A, b"1", 5)))
    story.commits(story.sends("p", (A, b"2", 3)))
    story.commits(story.sends("q", (A, b"3", 1)))
    (anomaly,) = story.found((A, ((1, b"3"), (3, b"2"), (5, b"1"))))
    assert str(anomaly) == "non-monotonic: b'2' is at 3 of records-0, before what p sent before it"


# --- copies ---


def copied(*values: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(values))


INPUT: Sequence[tuple[int, bytes]] = copied(b"a", b"b", b"c")


def test_a_copy_once_and_in_order_has_no_anomaly() -> None:
    assert find_copy_anomalies(INPUT, copied(b"a|1", b"b|1", b"c|4"), "copies-0") == []


def test_a_record_that_is_copied_twice_is_a_duplicate() -> None:
    (anomaly,) = find_copy_anomalies(INPUT, copied(b"a|1", b"b|1", b"b|2", b"c|2"), "copies-0")
    assert str(anomaly) == "duplicate: b'b' was copied to 1 and 2 of copies-0"


def test_a_record_that_is_not_copied_is_lost() -> None:
    (anomaly,) = find_copy_anomalies(INPUT, copied(b"a|1", b"c|2"), "copies-0")
    assert str(anomaly) == "lost write: b'b' was not copied to copies-0"


def test_copies_in_another_order_are_non_monotonic() -> None:
    (anomaly,) = find_copy_anomalies(INPUT, copied(b"a|1", b"c|2", b"b|3"), "copies-0")
    assert anomaly.kind is Kind.NON_MONOTONIC


def test_the_copy_of_an_aborted_record_is_an_aborted_read() -> None:
    (anomaly,) = find_copy_anomalies(INPUT[:2], copied(b"a|1", b"b|1", b"c|1"), "copies-0")
    assert anomaly.kind is Kind.ABORTED_READ
