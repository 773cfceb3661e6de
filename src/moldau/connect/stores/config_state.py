"""What the config topic says: replays its records, in order, and answers questions.

Task configurations count only from their commit on. The topic is compacted, so a commit may be
found whose task configurations have been overwritten: such a connector is ``inconsistent`` until
its tasks are written again, which the active worker does.

Records that are not understood are skipped and reported as such, as in Kafka: one bad record must
not keep a worker from starting.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from moldau.connect.stores import json_text
from moldau.connect.stores.config_records import (
    COMMIT,
    CONNECTOR,
    FENCING,
    LOGGER,
    RESTART,
    SESSION_KEY,
    TARGET_STATE,
    TASK,
    RestartRequest,
    TargetState,
)

Config = dict[str, str]


class LoggerLevel(tuple[str, str]):
    """The name of a logger and its new level."""

    __slots__ = ()


@dataclass
class ConfigState:
    """The state after all records that were replayed. Changed by ``replay`` only."""

    connectors: dict[str, Config] = field(default_factory=dict)
    targets: dict[str, TargetState] = field(default_factory=dict)
    # The configurations of a connector's tasks by number, and how many of them count.
    tasks: dict[str, dict[int, Config]] = field(default_factory=dict)
    task_counts: dict[str, int] = field(default_factory=dict)
    task_count_records: dict[str, int] = field(default_factory=dict)
    inconsistent: set[str] = field(default_factory=set)
    _deferred: dict[str, dict[int, Config]] = field(default_factory=dict)

    def task_configs(self, name: str) -> list[Config]:
        """The committed configurations of a connector's tasks; none if they are incomplete."""
        if name in self.inconsistent:
            return []
        known = self.tasks.get(name, {})
        return [known.get(index, {}) for index in range(self.task_counts.get(name, 0))]

    def target(self, name: str) -> TargetState:
        """What a connector should do."""
        return self.targets.get(name, TargetState.STARTED)

    def replay(self, key: bytes | None, value: bytes | None) -> RestartRequest | LoggerLevel | None:
        """Apply one record. Returns what it asks for, if it is a request and not a state.

        Raises:
            ValueError: the record is not one of Connect's, and has no effect.
        """
        name = (key or b"").decode("utf-8", errors="replace")
        content = None if value is None else json_text.decode(value)
        # No prefix begins with another one: at most one matches.
        for prefix, apply in _APPLY.items():
            if name.startswith(prefix):
                return apply(self, name.removeprefix(prefix), content)
        if name == SESSION_KEY:
            return None
        raise ValueError(f"the key {name!r} is not one of Connect's")

    def _on_connector(self, name: str, content: Any) -> None:
        if content is None:
            self._remove(name)
            return
        self.connectors[name] = _properties(content)
        self.targets.setdefault(name, TargetState.STARTED)

    def _on_target_state(self, name: str, content: Any) -> None:
        if content is None:
            self.targets.pop(name, None)
            if name in self.connectors:
                self.targets[name] = TargetState.STARTED
            return
        fields = _fields(content)
        # Written by workers before 3.5: without the newer field.
        state = fields.get("state.v2")
        self.targets[name] = TargetState(str(state or fields.get("state")))

    def _on_task(self, rest: str, content: Any) -> None:
        name, dash, number = rest.rpartition("-")
        if not dash or not name or not number.isdecimal():
            raise ValueError(f"task-{rest} is not the key of a task")
        self._deferred.setdefault(name, {})[int(number)] = _properties(content)

    def _on_commit(self, name: str, content: Any) -> None:
        # A connector that was deleted, and whose tombstone is compacted away already.
        if name not in self.connectors:
            self._remove(name)
            return
        count = _number(content, "tasks")
        deferred = self._deferred.pop(name, {})
        if all(index in deferred for index in range(count)):
            self.tasks.setdefault(name, {}).update(deferred)
            self.inconsistent.discard(name)
        else:
            self.inconsistent.add(name)
        self.task_counts[name] = count

    def _on_fencing(self, name: str, content: Any) -> None:
        self.task_count_records[name] = _number(content, "task-count")

    def _on_restart(self, name: str, content: Any) -> RestartRequest:
        fields = _fields(content)
        return RestartRequest(
            name, fields.get("include-tasks") is True, fields.get("only-failed") is True
        )

    def _on_logger(self, name: str, content: Any) -> LoggerLevel:
        level = _fields(content).get("level")
        if not isinstance(level, str):
            raise ValueError(f"the level of logger {name} is {level!r}, not a text")
        return LoggerLevel((name, level))

    def _remove(self, name: str) -> None:
        for states in (self.connectors, self.tasks, self.task_counts, self._deferred):
            states.pop(name, None)
        self.inconsistent.discard(name)


_APPLY: Final = {
    TARGET_STATE: ConfigState._on_target_state,
    CONNECTOR: ConfigState._on_connector,
    TASK: ConfigState._on_task,
    COMMIT: ConfigState._on_commit,
    RESTART: ConfigState._on_restart,
    FENCING: ConfigState._on_fencing,
    LOGGER: ConfigState._on_logger,
}


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"the value is a {type(content).__name__}, not an object")
    return content


def _properties(content: Any) -> Config:
    properties = _fields(content).get("properties")
    if not isinstance(properties, dict):
        raise ValueError(f"'properties' is a {type(properties).__name__}, not an object")
    return properties


def _number(content: Any, name: str) -> int:
    number = _fields(content).get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"{name!r} is {number!r}, not a number")
    return number
