"""The config topic: records as Kafka writes them, and what follows from them."""

import pytest

from moldau.connect.stores import config_records as records
from moldau.connect.stores.config_records import RestartRequest, TargetState
from moldau.connect.stores.config_state import ConfigState
from moldau.connect.stores.config_store import ConfigStore
from moldau.connect.stores.record_log import MemoryLog

CONFIG = {"connector.class": "FileStreamSource", "name": "a"}


def replayed(*written: records.Record) -> ConfigState:
    state = ConfigState()
    for key, value in written:
        state.replay(key, value)
    return state


def test_records_look_as_kafkas() -> None:
    assert records.connector_config("a", {"file": "x"}) == (
        b"connector-a",
        b'{"properties":{"file":"x"}}',
    )
    assert records.target_state("a", TargetState.STOPPED) == (
        b"target-state-a",
        b'{"state":"PAUSED","state.v2":"STOPPED"}',
    )
    assert records.task_configs("a", [{"n": "0"}, {"n": "1"}]) == [
        (b"task-a-0", b'{"properties":{"n":"0"}}'),
        (b"task-a-1", b'{"properties":{"n":"1"}}'),
        (b"commit-a", b'{"tasks":2}'),
    ]
    assert records.restart_request(RestartRequest("a", True, False)) == (
        b"restart-connector-a",
        b'{"include-tasks":true,"only-failed":false}',
    )
    assert records.task_count("a", 3) == (b"tasks-fencing-a", b'{"task-count":3}')
    assert records.logger_level("org.apache", "DEBUG") == (
        b"logger-cluster-org.apache",
        b'{"level":"DEBUG"}',
    )
    assert records.removal("a") == [(b"connector-a", None), (b"target-state-a", None)]


def test_a_connector_runs_unless_another_state_was_written() -> None:
    state = replayed(records.connector_config("a", CONFIG))
    assert state.connectors == {"a": CONFIG}
    assert state.target("a") is TargetState.STARTED


def test_a_target_state_may_come_before_the_connector() -> None:
    state = replayed(
        records.target_state("a", TargetState.PAUSED), records.connector_config("a", CONFIG)
    )
    assert state.target("a") is TargetState.PAUSED


def test_the_older_field_counts_where_the_newer_is_missing() -> None:
    state = replayed((b"target-state-a", b'{"state":"PAUSED"}'))
    assert state.target("a") is TargetState.PAUSED


def test_tasks_count_from_their_commit_on() -> None:
    tasks = records.task_configs("a-b", [{"n": "0"}, {"n": "1"}])
    state = replayed(records.connector_config("a-b", CONFIG), *tasks[:-1])
    assert state.task_configs("a-b") == []
    state.replay(*tasks[-1])
    assert state.task_configs("a-b") == [{"n": "0"}, {"n": "1"}]


def test_fewer_tasks_replace_more() -> None:
    state = replayed(
        records.connector_config("a", CONFIG),
        *records.task_configs("a", [{"n": "0"}, {"n": "1"}]),
        *records.task_configs("a", [{"n": "2"}]),
    )
    assert state.task_configs("a") == [{"n": "2"}]


def test_a_commit_whose_tasks_were_compacted_away_is_inconsistent_until_the_next() -> None:
    state = replayed(records.connector_config("a", CONFIG), (b"commit-a", b'{"tasks":1}'))
    assert state.inconsistent == {"a"}
    assert state.task_configs("a") == []
    for record in records.task_configs("a", [{"n": "0"}]):
        state.replay(*record)
    assert state.inconsistent == set()
    assert state.task_configs("a") == [{"n": "0"}]


def test_a_removed_connector_leaves_nothing() -> None:
    state = replayed(
        records.connector_config("a", CONFIG),
        *records.task_configs("a", [{}]),
        *records.removal("a"),
    )
    assert state == ConfigState()


def test_tasks_of_a_connector_that_was_removed_before_are_ignored() -> None:
    assert replayed(*records.task_configs("a", [{}])).task_counts == {}


def test_requests_are_returned() -> None:
    state = ConfigState()
    assert state.replay(*records.restart_request(RestartRequest("a", False, True))) == (
        RestartRequest("a", False, True)
    )
    assert state.replay(*records.logger_level("root", "WARN")) == ("root", "WARN")


def test_a_session_key_of_apaches_workers_is_left_alone() -> None:
    assert replayed((b"session-key", b'{"key":"x"}')) == ConfigState()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-a", b"[1]"),
        (b"connector-a", b'{"properties":1}'),
        (b"connector-a", b"\xff"),
        (b"target-state-a", b'{"state":"DANCING"}'),
        (b"target-state-a", b"{}"),
        (b"task-a", b'{"properties":{}}'),
        (b"task-a-0", None),
        (b"commit-a", b'{"tasks":"1"}'),
        (b"logger-cluster-x", b"{}"),
        (b"something", b"{}"),
        (None, b"{}"),
    ],
)
def test_a_record_that_is_not_understood_is_refused_and_changes_nothing(
    key: bytes | None, value: bytes | None
) -> None:
    state = replayed(records.connector_config("a", CONFIG))
    with pytest.raises(ValueError):
        state.replay(key, value)
    assert state == replayed(records.connector_config("a", CONFIG))


@pytest.mark.parametrize("value", ['{{"properties":{{"password":"{}"', '"{}"', '{{"tasks":"{}"}}'])
def test_no_value_of_a_record_that_is_not_understood_is_logged(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = ConfigStore(MemoryLog())
    store.start()
    store.write([(b"connector-a", value.format("t0p-secret").encode())])
    assert "key b'connector-a' is ignored" in caplog.text
    assert "t0p-secret" not in caplog.text
