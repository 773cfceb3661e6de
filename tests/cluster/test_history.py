"""The judge of the replication tests catches every kind of wrong log."""

from tests.cluster.history import (
    UNKNOWN_OFFSET,
    Ack,
    Assigned,
    Committed,
    GroupEvent,
    History,
    Read,
    group_violations,
    log_violations,
    violations,
)

LOGS = {0: [(0, "1.0"), (1, "2.0"), (2, "1.2")], 1: [(0, "1.1"), (1, "2.1")]}
ACKS = [Ack("1.0", 0, 0), Ack("2.0", 0, 1), Ack("1.2", 0, 2), Ack("1.1", 1, 0), Ack("2.1", 1, 1)]


def read_all(member: str, partition: int, begin: int = 0) -> list[GroupEvent]:
    return [Read(member, partition, *record) for record in LOGS[partition] if record[0] >= begin]


GROUP: list[GroupEvent] = [
    Assigned("a", 0),
    Assigned("b", 1),
    *read_all("a", 0),
    *read_all("b", 1),
    Committed(0, 3),
    Committed(1, 2),
]


def test_a_right_history_is_right() -> None:
    history = History()
    history.acks = list(ACKS)
    history.groups["g"] = list(GROUP)
    assert violations(history, LOGS) == []


def test_a_record_without_acknowledgement_may_be_stored_or_not() -> None:
    assert log_violations(ACKS[:-2], LOGS) == []


def test_an_offset_that_the_client_did_not_learn_is_not_judged() -> None:
    assert log_violations([Ack("1.2", 0, UNKNOWN_OFFSET)], LOGS) == []


def test_a_failed_send_is_told() -> None:
    history = History()
    history.failed("1.7: timed out")
    assert violations(history, {}) == ["failed: 1.7: timed out"]


def test_a_lost_record_is_found() -> None:
    logs = {**LOGS, 1: LOGS[1][:1]}
    assert log_violations(ACKS, logs) == ["lost: 2.1, acknowledged at 1@1"]


def test_a_doubled_record_is_found() -> None:
    logs = {**LOGS, 1: [*LOGS[1], (2, "2.1")]}
    assert log_violations(ACKS, logs) == ["doubled: 2.1 at 1@1 and 1@2"]


def test_a_record_that_is_in_two_partitions_is_found() -> None:
    logs = {**LOGS, 1: [*LOGS[1], (2, "1.2")]}
    assert log_violations(ACKS, logs) == ["doubled: 1.2 at 0@2 and 1@2"]


def test_a_reordered_record_is_found() -> None:
    logs = {**LOGS, 0: [(0, "1.2"), (1, "2.0"), (2, "1.0")]}
    acks = [Ack("1.2", 0, 0), Ack("1.0", 0, 2)]
    assert log_violations(acks, logs) == ["reordered: 1.0 at 0@2 after 2"]


def test_a_record_at_another_offset_than_acknowledged_is_found() -> None:
    logs = {**LOGS, 1: [(0, "1.1"), (5, "2.1")]}
    assert log_violations(ACKS, logs) == ["moved: 2.1 is at 1@5, not 1@1"]


def test_only_some_of_many_losses_are_told() -> None:
    acks = [Ack(f"3.{number}", 0, number) for number in range(13)]
    assert log_violations(acks, {})[-1] == "... and 3 more like it"


def test_a_record_that_no_member_read_is_found() -> None:
    events = [event for event in GROUP if event != Read("a", 0, 2, "1.2")]
    assert group_violations(events, LOGS) == ["never read: 1.2 at 0@2"]


def test_a_gap_in_an_assignment_is_found() -> None:
    gap: list[GroupEvent] = [Assigned("c", 0), Read("c", 0, 0, "1.0"), Read("c", 0, 2, "1.2")]
    assert group_violations([*gap, *GROUP], LOGS) == ["c read 0@2, expected offset 1"]


def test_a_record_that_is_read_twice_in_an_assignment_is_found() -> None:
    assert group_violations([*GROUP, Read("a", 0, 1, "2.0")], LOGS) == [
        "a read 0@1, expected offset 3"
    ]


def test_the_next_owner_may_read_again_what_was_not_committed() -> None:
    begun: list[GroupEvent] = [Assigned("c", 0), *read_all("c", 0), Committed(0, 1)]
    assert (
        group_violations([*begun, Assigned("d", 0), *read_all("d", 0, 1), *GROUP[1:]], LOGS) == []
    )


def test_a_commit_that_was_forgotten_is_found() -> None:
    assert group_violations([*GROUP, Assigned("c", 0), *read_all("c", 0, 1)], LOGS) == [
        "c began at 0@1, committed was 3"
    ]


def test_a_record_that_was_read_but_is_stored_no_more_is_found() -> None:
    events = [*GROUP, Read("a", 0, 3, "1.3")]
    assert group_violations(events, LOGS) == ["read 1.3 at 0@3, stored is None"]


def test_only_what_its_producer_wrote_again_may_be_there_twice() -> None:
    history = History()
    history.acks += [Ack("1.0", 0, 2)]
    logs = {0: [(0, "1.0"), (1, "2.0"), (2, "1.0"), (3, "2.0")]}
    assert violations(history, logs, resent={(0, 0)}) == ["doubled: 2.0 at 0@1 and 0@3"]
    assert violations(history, logs, resent={(0, 0), (0, 1)}) == []
    assert violations(history, logs)[0] == "moved: 1.0 is at 0@0, not 0@2"
