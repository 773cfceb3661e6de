"""What to do so that what runs is what the config topic says (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from moldau.connect.stores.config_records import TargetState
from moldau.connect.stores.config_state import Config, ConfigState

# The option of Java's workers that names the class of a task.
_TASK_CLASS: Final = "task.class"
# Tasks that are not named after their connectors.
_TASK_CLASSES: Final = {
    "io.confluent.connect.jdbc.JdbcSinkConnector": "io.confluent.connect.jdbc.sink.JdbcSinkTask",
    "io.confluent.connect.jdbc.JdbcSourceConnector": (
        "io.confluent.connect.jdbc.source.JdbcSourceTask"
    ),
    "io.debezium.connector.postgresql.PostgresConnector": (
        "io.debezium.connector.postgresql.PostgresConnectorTask"
    ),
}


@dataclass(frozen=True)
class Applied:
    """What this worker last did about a connector: its configuration as stored, and its state."""

    config: Config
    target: TargetState


class Step(StrEnum):
    """What to do about one connector."""

    RUN = "run"
    # It runs now, and is to stop moving records.
    PAUSE = "pause"
    # It does not run, or with another configuration: it is to be paused from the start.
    HOLD = "hold"
    STOP = "stop"
    REMOVE = "remove"


class Action(NamedTuple):
    """One step for one connector."""

    step: Step
    name: str


def decide(state: ConfigState, applied: Mapping[str, Applied]) -> list[Action]:
    """The steps from ``applied`` to ``state``. What is to stop comes first."""
    removed = [
        Action(Step.REMOVE, name) for name in sorted(applied) if name not in state.connectors
    ]
    steps = [
        Action(step, name)
        for name, config in sorted(state.connectors.items())
        if (step := _step(Applied(config, state.target(name)), applied.get(name))) is not None
    ]
    stops_first = sorted(steps, key=lambda action: action.step is Step.RUN)
    return removed + stops_first


def _step(wanted: Applied, present: Applied | None) -> Step | None:
    if wanted == present:
        return None
    if wanted.target is TargetState.STARTED:
        return Step.RUN
    if wanted.target is TargetState.STOPPED:
        # Of a connector that is stopped, only the configuration may have changed.
        is_stopped = present is not None and present.target is TargetState.STOPPED
        return None if is_stopped else Step.STOP
    runs_as_wanted = (
        present is not None
        and present.target is TargetState.STARTED
        and present.config == wanted.config
    )
    return Step.PAUSE if runs_as_wanted else Step.HOLD


def task_configs(config: Mapping[str, str], class_name: str, target: TargetState) -> list[Config]:
    """The configurations of a connector's tasks as they are stored.

    There is one, since Spark divides the work of a connector. It is what most of Kafka's connectors
    would make of their configuration, with the class of the task, so that a worker of Apache's that
    takes over can start it before it has made its own. ``class_name`` is the connector's in full.
    """
    if target is TargetState.STOPPED:
        return []
    usual = f"{class_name.removesuffix('Connector')}Task"
    return [{**config, _TASK_CLASS: _TASK_CLASSES.get(class_name, usual)}]
