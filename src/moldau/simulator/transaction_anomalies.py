"""Finds what no history of transactions may show (after jepsen.tests.kafka).

The history has what producers were told and what readers of committed records saw. The final read
has all committed records of every partition, after everything has come to rest: it decides about
transactions whose outcome their producers do not know.

=====================  ==========================================================================
lost write             an acknowledged record of a committed transaction is not in the final read
duplicate              one record at two offsets of a partition
inconsistent offset    two records at one offset of a partition
aborted read           a reader saw a record of an aborted transaction, or of none
precommitted read      a reader saw a record before its commit was sent
torn transaction       the final read has some records of a transaction and lacks others
poll skip              a reader went past a committed record without seeing it
non-monotonic          a reader went back, or records of a producer are in another order
=====================  ==========================================================================
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from moldau.ids import TopicPartition
from moldau.simulator.transaction_history import (
    UNKNOWN_OFFSET,
    Outcome,
    Poll,
    Transaction,
    TransactionHistory,
)

FinalRead = Mapping[TopicPartition, Sequence[tuple[int, bytes]]]
"""Offsets and values of all committed records, by partition, in order."""


class Kind(Enum):
    """What a history shows that none may."""

    LOST_WRITE = "lost write"
    DUPLICATE = "duplicate"
    INCONSISTENT_OFFSET = "inconsistent offset"
    ABORTED_READ = "aborted read"
    PRECOMMITTED_READ = "precommitted read"
    TORN_TRANSACTION = "torn transaction"
    POLL_SKIP = "poll skip"
    NON_MONOTONIC = "non-monotonic"


class Anomaly(NamedTuple):
    kind: Kind
    what: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}"


def find_anomalies(history: TransactionHistory, final: FinalRead) -> list[Anomaly]:
    """All of them, in the order of the table above."""
    polls = [*history.polls, *_as_polls(final)]
    return [
        *_lost(history, final),
        *_placed_twice(history, polls),
        *_seen_too_early(history, polls),
        *_torn(history, final),
        *_skipped(history, final),
        *_went_back(history),
        *_in_another_order(history),
    ]


def find_copy_anomalies(
    inputs: Sequence[tuple[int, bytes]], outputs: Sequence[tuple[int, bytes]], where: str
) -> list[Anomaly]:
    """Of a partition that was copied: its committed records, and those of the copy.

    The value of a copy begins with that of the original, up to a bar.
    """
    found: list[Anomaly] = []
    originals = {value: offset for offset, value in inputs}
    copied: dict[bytes, int] = {}
    latest = -1
    for offset, value in outputs:
        original = value.split(b"|")[0]
        if original in copied:
            what = f"{original!r} was copied to {copied[original]} and {offset} of {where}"
            found.append(Anomaly(Kind.DUPLICATE, what))
            continue
        copied[original] = offset
        at = originals.get(original)
        if at is None:
            what = f"{value!r} at {offset} of {where} is the copy of nothing that is committed"
            found.append(Anomaly(Kind.ABORTED_READ, what))
        elif at < latest:
            what = f"{original!r} is in {where} after what follows it"
            found.append(Anomaly(Kind.NON_MONOTONIC, what))
        else:
            latest = at
    missing = [value for value in originals if value not in copied]
    found += [Anomaly(Kind.LOST_WRITE, f"{each!r} was not copied to {where}") for each in missing]
    return found


def _as_polls(final: FinalRead) -> Iterator[Poll]:
    for topic_partition, records in final.items():
        end = records[-1][0] + 1 if records else 0
        yield Poll("the final read", 1 << 62, topic_partition, 0, tuple(records), end)


def _values(final: FinalRead) -> dict[TopicPartition, dict[bytes, int]]:
    return {
        topic_partition: {value: offset for offset, value in records}
        for topic_partition, records in final.items()
    }


# --- the final read ---


def _lost(history: TransactionHistory, final: FinalRead) -> Iterator[Anomaly]:
    present = _values(final)
    for transaction in history.transactions:
        if transaction.outcome is not Outcome.COMMITTED:
            continue
        for each in transaction.sent:
            if each.value not in present.get(each.topic_partition, {}):
                what = f"{each.value!r} was committed in {each.topic_partition} and is not there"
                yield Anomaly(Kind.LOST_WRITE, what)


def _torn(history: TransactionHistory, final: FinalRead) -> Iterator[Anomaly]:
    present = _values(final)
    for transaction in history.transactions:
        there = [
            each.value
            for each in transaction.sent
            if each.value in present.get(each.topic_partition, {})
        ]
        if there and len(there) < len(transaction.sent):
            what = (
                f"{len(there)} of {len(transaction.sent)} records of one transaction of "
                f"{transaction.producer} are there, {there[0]!r} is one of them"
            )
            yield Anomaly(Kind.TORN_TRANSACTION, what)


# --- places ---


def _placed_twice(history: TransactionHistory, polls: Sequence[Poll]) -> Iterator[Anomaly]:
    """Offsets with two records, and records with two offsets."""
    by_offset: dict[tuple[TopicPartition, int], bytes] = {}
    by_value: dict[tuple[TopicPartition, bytes], int] = {}
    for topic_partition, offset, value in _placements(history, polls):
        other = by_offset.setdefault((topic_partition, offset), value)
        if other != value:
            by_offset[topic_partition, offset] = value
            what = f"{topic_partition} has {other!r} at {offset}, and {value!r}"
            yield Anomaly(Kind.INCONSISTENT_OFFSET, what)
        known = by_value.setdefault((topic_partition, value), offset)
        if known != offset:
            by_value[topic_partition, value] = offset
            what = f"{value!r} is at {known} of {topic_partition}, and at {offset}"
            yield Anomaly(Kind.DUPLICATE, what)


def _placements(
    history: TransactionHistory, polls: Sequence[Poll]
) -> Iterator[tuple[TopicPartition, int, bytes]]:
    for transaction in history.transactions:
        # What was not committed may be cut off with the leader that has acknowledged it to
        # nobody but its producer; with acks=all that is not allowed, and so it counts.
        for topic_partition, value, offset in transaction.sent:
            if offset != UNKNOWN_OFFSET:
                yield topic_partition, offset, value
    for poll in polls:
        for offset, value in poll.records:
            yield poll.topic_partition, offset, value


# --- readers ---


def _seen_too_early(history: TransactionHistory, polls: Sequence[Poll]) -> Iterator[Anomaly]:
    owners: dict[tuple[TopicPartition, bytes], Transaction] = {
        key: transaction for transaction in history.transactions for key in transaction.attempted
    }
    for poll in polls:
        for offset, value in poll.records:
            found = _too_early(owners.get((poll.topic_partition, value)), poll.at_us)
            if found is not None:
                kind, why = found
                what = f"{poll.reader} saw {value!r} at {offset} of {poll.topic_partition}, {why}"
                yield Anomaly(kind, what)


def _too_early(transaction: Transaction | None, at_us: int) -> tuple[Kind, str] | None:
    if transaction is None:
        return Kind.ABORTED_READ, "which nobody has sent"
    if transaction.outcome is Outcome.ABORTED:
        if transaction.is_over:
            return Kind.ABORTED_READ, f"which {transaction.producer} did not commit"
        return Kind.PRECOMMITTED_READ, f"which {transaction.producer} has not committed yet"
    commit_us = transaction.commit_us
    if commit_us is not None and at_us < commit_us:
        before_us = commit_us - at_us
        return Kind.PRECOMMITTED_READ, f"{before_us} us before {transaction.producer} committed it"
    return None


def _skipped(history: TransactionHistory, final: FinalRead) -> Iterator[Anomaly]:
    for poll in history.polls:
        seen = dict(poll.records)
        records = final.get(poll.topic_partition, ())
        first = bisect_left(records, poll.position, key=lambda each: each[0])
        last = bisect_left(records, poll.next_position, key=lambda each: each[0])
        for offset, value in records[first:last]:
            if offset not in seen:
                what = f"{poll.reader} went past {value!r} at {offset} of {poll.topic_partition}"
                yield Anomaly(Kind.POLL_SKIP, what)


def _went_back(history: TransactionHistory) -> Iterator[Anomaly]:
    positions: dict[tuple[str, TopicPartition], int] = {}
    for poll in history.polls:
        key = (poll.reader, poll.topic_partition)
        offsets = [positions.get(key, poll.position), poll.position]
        offsets += [offset for offset, _ in poll.records]
        for before, after in pairwise(offsets):
            if after < before:
                what = f"{poll.reader} went from {before} to {after} of {poll.topic_partition}"
                yield Anomaly(Kind.NON_MONOTONIC, what)
        positions[key] = poll.next_position


def _in_another_order(history: TransactionHistory) -> Iterator[Anomaly]:
    latest: dict[tuple[str, TopicPartition], int] = {}
    for transaction in history.transactions:
        for topic_partition, value, offset in transaction.sent:
            key = (transaction.producer, topic_partition)
            if offset != UNKNOWN_OFFSET and offset < latest.get(key, -1):
                what = (
                    f"{value!r} is at {offset} of {topic_partition}, before what "
                    f"{transaction.producer} sent before it"
                )
                yield Anomaly(Kind.NON_MONOTONIC, what)
            latest[key] = max(offset, latest.get(key, -1))
