"""The JSON that describes connectors, in Kafka's shapes (pure)."""

from collections.abc import Mapping
from typing import Any

from moldau.connect.stores.config_records import RestartRequest
from moldau.connect.stores.config_state import ConfigState
from moldau.connect.stores.status_records import Status, StatusState

Json = dict[str, Any]


def info(name: str, state: ConfigState, config: Mapping[str, str], kind: str) -> Json:
    """As ``GET /connectors/{name}``."""
    count = len(state.task_configs(name))
    tasks = [{"connector": name, "task": number} for number in range(count)]
    return {"name": name, "config": dict(config), "tasks": tasks, "type": kind}


def tasks(name: str, state: ConfigState) -> list[Json]:
    """As ``GET /connectors/{name}/tasks``."""
    return [
        {"id": {"connector": name, "task": number}, "config": dict(config)}
        for number, config in enumerate(state.task_configs(name))
    ]


def status(name: str, statuses: StatusState, kind: str) -> Json:
    """As ``GET /connectors/{name}/status``; the connector must have a status."""
    known = statuses.tasks.get(name, {})
    return {
        "name": name,
        "connector": state_of(statuses.connectors[name]),
        "tasks": [task_state(number, known[number]) for number in sorted(known)],
        "type": kind,
    }


def task_state(number: int, status: Status) -> Json:
    """As ``GET /connectors/{name}/tasks/{number}/status``."""
    return {"id": number, **state_of(status)}


def state_of(status: Status) -> Json:
    """State, worker, and what there is of trace and version."""
    shown: Json = {"state": str(status.state), "worker_id": status.worker_id}
    if status.trace:
        shown["trace"] = status.trace
    if status.version and status.version != "undefined":
        shown["version"] = status.version
    return shown


class RestartPlan:
    """What a request to restart means for the statuses of a connector (KIP-745)."""

    def __init__(self, request: RestartRequest, statuses: StatusState) -> None:
        name = request.connector
        self.name = name
        self._statuses = statuses
        self.restarts_connector = _is_due(request, statuses.connectors[name])
        self.tasks = [
            number
            for number, each in sorted(statuses.tasks.get(name, {}).items())
            if request.include_tasks and _is_due(request, each)
        ]

    def as_json(self, kind: str) -> Json:
        """The status to answer with: what is about to restart is RESTARTING already."""
        shown = status(self.name, self._statuses, kind)
        if self.restarts_connector:
            shown["connector"]["state"] = "RESTARTING"
        for each in shown["tasks"]:
            if each["id"] in self.tasks:
                each["state"] = "RESTARTING"
        return shown


def _is_due(request: RestartRequest, status: Status) -> bool:
    return not request.only_failed or status.state == "FAILED"
