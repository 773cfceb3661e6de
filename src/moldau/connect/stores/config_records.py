"""The records of the config topic: what their keys and values look like, and what they mean.

    connector-NAME          {"properties":{...}}                 a connector's configuration
    target-state-NAME       {"state":"PAUSED","state.v2":"STOPPED"}
    task-NAME-0             {"properties":{...}}                 waits for the commit
    commit-NAME             {"tasks":1}                          applies the tasks before it
    tasks-fencing-NAME      {"task-count":1}                     producers to fence (KIP-618)
    restart-connector-NAME  {"include-tasks":true,"only-failed":false}
    logger-cluster-NAME     {"level":"INFO"}                     (KIP-976)
    session-key             {"key":...}                          signs requests between workers

Workers of Apache and of Moldau read the same topic, so each must understand the other's records.
Moldau needs no session key: it leaves those that it finds, and Apache's leader writes a new one.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from moldau.connect.stores import json_text

CONNECTOR: Final = "connector-"
TARGET_STATE: Final = "target-state-"
TASK: Final = "task-"
COMMIT: Final = "commit-"
FENCING: Final = "tasks-fencing-"
RESTART: Final = "restart-connector-"
LOGGER: Final = "logger-cluster-"
SESSION_KEY: Final = "session-key"

# Key and value; without a value, a tombstone.
Record = tuple[bytes, bytes | None]


class TargetState(StrEnum):
    """What the user wants a connector to do."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class RestartRequest(NamedTuple):
    """A request to restart a connector and its tasks (KIP-745)."""

    connector: str
    include_tasks: bool
    only_failed: bool


def connector_config(name: str, config: Mapping[str, str | None]) -> Record:
    """The configuration of a connector."""
    return _record(f"{CONNECTOR}{name}", {"properties": config})


def target_state(name: str, state: TargetState) -> Record:
    """What a connector should do. Workers before 3.5 know no STOPPED and read PAUSED."""
    older = TargetState.PAUSED if state is TargetState.STOPPED else state
    return _record(f"{TARGET_STATE}{name}", {"state": str(older), "state.v2": str(state)})


def removal(name: str) -> list[Record]:
    """The tombstones of a connector. Its tasks are forgotten with it."""
    return [(f"{prefix}{name}".encode(), None) for prefix in (CONNECTOR, TARGET_STATE)]


def task_configs(name: str, configs: Sequence[Mapping[str, str | None]]) -> list[Record]:
    """The configurations of all tasks of a connector, and the commit that applies them."""
    tasks = [
        _record(f"{TASK}{name}-{index}", {"properties": config})
        for index, config in enumerate(configs)
    ]
    return [*tasks, _record(f"{COMMIT}{name}", {"tasks": len(configs)})]


def task_count(name: str, count: int) -> Record:
    """How many transactional producers must be fenced before the next tasks start."""
    return _record(f"{FENCING}{name}", {"task-count": count})


def restart_request(request: RestartRequest) -> Record:
    """A request to restart."""
    value = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    return _record(f"{RESTART}{request.connector}", value)


def logger_level(logger: str, level: str) -> Record:
    """The level of a logger, for all workers that run now."""
    return _record(f"{LOGGER}{logger}", {"level": level})


def _record(key: str, value: Mapping[str, Any]) -> Record:
    return key.encode(), json_text.encode(value)
