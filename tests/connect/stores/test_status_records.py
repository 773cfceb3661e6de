"""The status topic: records as Kafka writes them, and what follows from them."""

import pytest

from moldau.connect.stores import status_records as records
from moldau.connect.stores.config_records import Record
from moldau.connect.stores.status_records import Status, StatusState, TopicStatus

RUNNING = Status("RUNNING", "10.0.0.1:8083", 3, None, "4.3.1")


def replayed(*written: Record) -> StatusState:
    state = StatusState()
    for key, value in written:
        state.replay(key, value)
    return state


def test_records_look_as_kafkas() -> None:
    assert records.connector_status("a", RUNNING) == (
        b"status-connector-a",
        b'{"state":"RUNNING","trace":null,"worker_id":"10.0.0.1:8083","generation":3,'
        b'"version":"4.3.1"}',
    )
    assert records.task_status("a", 0, None) == (b"status-task-a-0", None)
    assert records.topic_status(TopicStatus("orders", "a", 0, 1700000000000)) == (
        b"status-topic-orders:connector-a",
        b'{"topic":{"name":"orders","connector":"a","task":0,"discoverTimestamp":1700000000000}}',
    )


def test_what_was_written_is_read() -> None:
    failed = Status("FAILED", "w", 1, "Traceback\n\tat x", None)
    used = TopicStatus("orders", "a:connector-b", 0, 5)
    state = replayed(
        records.connector_status("a-1", RUNNING),
        records.task_status("a-1", 0, failed),
        records.topic_status(used),
    )
    assert state.connectors == {"a-1": RUNNING}
    assert state.tasks == {"a-1": {0: failed}}
    assert state.topics == {"a:connector-b": {"orders": used}}


def test_tombstones_remove() -> None:
    state = replayed(
        records.connector_status("a", RUNNING),
        records.task_status("a", 0, RUNNING),
        records.topic_status(TopicStatus("t", "a", 0, 5)),
        records.task_status("a", 0, None),
        records.connector_status("a", None),
        records.topic_removal("a", "t"),
    )
    assert state.connectors == {}
    assert state.topics == {"a": {}}


def test_a_late_unassigned_does_not_hide_that_a_task_runs() -> None:
    late = Status("UNASSIGNED", "other", 3)
    state = replayed(records.task_status("a", 0, RUNNING), records.task_status("a", 0, late))
    assert state.tasks["a"][0] == RUNNING
    later = Status("UNASSIGNED", "other", 4)
    state.replay(*records.task_status("a", 0, later))
    assert state.tasks["a"][0] == later


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"status-connector-", b"{}"),
        (b"status-connector-a", b'{"state":"DANCING","worker_id":"w","generation":1}'),
        (b"status-connector-a", b'{"state":"RUNNING"}'),
        (b"status-task-a", b"{}"),
        (b"status-topic-a", b"{}"),
        (b"status-topic-a:connector-b", b'{"topic":{}}'),
        (b"other", b"{}"),
    ],
)
def test_a_record_that_is_not_understood_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises(ValueError):
        StatusState().replay(key, value)
