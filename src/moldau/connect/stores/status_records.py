"""The records of the status topic, and the state that they describe.

    status-connector-NAME          {"state","trace","worker_id","generation","version"}
    status-task-NAME-0             the same
    status-topic-T:connector-NAME  {"topic":{"name","connector","task","discoverTimestamp"}}

A tombstone removes a status. Statuses are reports for people: nothing is decided by them, except
what to restart.
"""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from moldau.connect.stores import json_text
from moldau.connect.stores.config_records import Record

CONNECTOR: Final = "status-connector-"
TASK: Final = "status-task-"
TOPIC: Final = "status-topic-"
_SEPARATOR: Final = ":connector-"

STATES: Final = (
    "UNASSIGNED",
    "RUNNING",
    "PAUSED",
    "FAILED",
    "DESTROYED",
    "RESTARTING",
    "STOPPED",
)


class Status(NamedTuple):
    """The state of a connector or of a task, and who reported it."""

    state: str
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None

    def as_record_value(self) -> bytes:
        """In the order of Kafka's schema."""
        return json_text.encode(
            {
                "state": str(self.state),
                "trace": self.trace,
                "worker_id": self.worker_id,
                "generation": self.generation,
                "version": self.version,
            }
        )


class TopicStatus(NamedTuple):
    """A topic that a connector has used (KIP-558)."""

    topic: str
    connector: str
    task: int
    discovered_ms: int


def connector_status(name: str, status: Status | None) -> Record:
    """The status of a connector; None removes it."""
    return f"{CONNECTOR}{name}".encode(), None if status is None else status.as_record_value()


def task_status(name: str, task: int, status: Status | None) -> Record:
    """The status of a task; None removes it."""
    key = f"{TASK}{name}-{task}".encode()
    return key, None if status is None else status.as_record_value()


def topic_status(status: TopicStatus) -> Record:
    """A topic that is in use."""
    content = {
        "name": status.topic,
        "connector": status.connector,
        "task": status.task,
        "discoverTimestamp": status.discovered_ms,
    }
    return _topic_key(status.connector, status.topic), json_text.encode({"topic": content})


def topic_removal(connector: str, topic: str) -> Record:
    """The tombstone of a topic's status."""
    return _topic_key(connector, topic), None


def _topic_key(connector: str, topic: str) -> bytes:
    return f"{TOPIC}{topic}{_SEPARATOR}{connector}".encode()


@dataclass
class StatusState:
    """The statuses after all records that were replayed. Changed by ``replay`` only."""

    connectors: dict[str, Status] = field(default_factory=dict)
    tasks: dict[str, dict[int, Status]] = field(default_factory=dict)
    topics: dict[str, dict[str, TopicStatus]] = field(default_factory=dict)

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Apply one record.

        Raises:
            ValueError: the record is not one of Connect's, and has no effect.
        """
        name = (key or b"").decode("utf-8", errors="replace")
        content = None if value is None else json_text.decode(value)
        if name.startswith(CONNECTOR):
            self._on_connector(name.removeprefix(CONNECTOR), content)
        elif name.startswith(TASK):
            self._on_task(name.removeprefix(TASK), content)
        elif name.startswith(TOPIC):
            self._on_topic(name.removeprefix(TOPIC), content)
        else:
            raise ValueError(f"the key {name!r} is not one of Connect's")

    def _on_connector(self, name: str, content: Any) -> None:
        if not name:
            raise ValueError("the key names no connector")
        if content is None:
            self.connectors.pop(name, None)
            self.tasks.pop(name, None)
        else:
            self.connectors[name] = _status(content)

    def _on_task(self, rest: str, content: Any) -> None:
        name, dash, number = rest.rpartition("-")
        if not dash or not name or not number.isdecimal():
            raise ValueError(f"{TASK}{rest} is not the key of a task")
        task = int(number)
        if content is None:
            self.tasks.get(name, {}).pop(task, None)
            return
        status = _status(content)
        known = self.tasks.setdefault(name, {})
        last = known.get(task)
        # A worker that gave the task up reports so late: another one runs it already.
        is_late = (
            status.state == "UNASSIGNED"
            and last is not None
            and last.state == "RUNNING"
            and last.generation >= status.generation
        )
        if not is_late:
            known[task] = status

    def _on_topic(self, rest: str, content: Any) -> None:
        # The name of a topic has no colon, that of a connector may.
        topic, separator, connector = rest.partition(_SEPARATOR)
        if not separator or not topic or not connector:
            raise ValueError(f"{TOPIC}{rest} names no topic and connector")
        if content is None:
            self.topics.get(connector, {}).pop(topic, None)
            return
        match content:
            case {
                "topic": {
                    "name": str() as name,
                    "connector": str() as owner,
                    "task": int() as task,
                    "discoverTimestamp": int() as discovered_ms,
                }
            }:
                status = TopicStatus(name, owner, task, discovered_ms)
                self.topics.setdefault(connector, {})[topic] = status
            case _:
                raise ValueError(f"{content!r} is not the status of a topic")


def _status(content: Any) -> Status:
    match content:
        case {"state": str() as state, "worker_id": str() as worker, "generation": int() as number}:
            if state in STATES:
                return Status(state, worker, number, content.get("trace"), content.get("version"))
    raise ValueError(f"{content!r} is not a status")
