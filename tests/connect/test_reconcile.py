"""From what runs to what should."""

import pytest

from moldau.connect.reconcile import Action, Applied, Step, decide, task_configs
from moldau.connect.stores.config_records import TargetState
from moldau.connect.stores.config_state import ConfigState

OLD = {"x": "1"}
NEW = {"x": "2"}
STARTED, PAUSED, STOPPED = TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED


def wanted(target: TargetState) -> ConfigState:
    return ConfigState(connectors={"a": NEW}, targets={"a": target})


@pytest.mark.parametrize(
    ("present", "target", "step"),
    [
        (None, STARTED, Step.RUN),
        (None, PAUSED, Step.HOLD),
        (None, STOPPED, Step.STOP),
        (Applied(NEW, STARTED), STARTED, None),
        (Applied(OLD, STARTED), STARTED, Step.RUN),
        (Applied(NEW, PAUSED), STARTED, Step.RUN),
        (Applied(NEW, STOPPED), STARTED, Step.RUN),
        (Applied(NEW, STARTED), PAUSED, Step.PAUSE),
        (Applied(OLD, STARTED), PAUSED, Step.HOLD),
        (Applied(NEW, PAUSED), PAUSED, None),
        (Applied(OLD, PAUSED), PAUSED, Step.HOLD),
        (Applied(NEW, STOPPED), PAUSED, Step.HOLD),
        (Applied(NEW, STARTED), STOPPED, Step.STOP),
        (Applied(NEW, PAUSED), STOPPED, Step.STOP),
        (Applied(OLD, STOPPED), STOPPED, None),
    ],
)
def test_each_state_leads_to_the_one_that_is_wanted(
    present: Applied | None, target: TargetState, step: Step | None
) -> None:
    applied = {} if present is None else {"a": present}
    assert decide(wanted(target), applied) == ([] if step is None else [Action(step, "a")])


def test_what_is_removed_and_stopped_comes_before_what_is_started() -> None:
    state = ConfigState(connectors={"b": NEW, "c": NEW}, targets={"c": STOPPED})
    applied = {"a": Applied(OLD, STARTED), "c": Applied(NEW, STARTED)}
    assert decide(state, applied) == [
        Action(Step.REMOVE, "a"),
        Action(Step.STOP, "c"),
        Action(Step.RUN, "b"),
    ]


@pytest.mark.parametrize(
    ("connector", "task"),
    [
        (
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "org.apache.kafka.connect.file.FileStreamSourceTask",
        ),
        (
            "io.debezium.connector.postgresql.PostgresConnector",
            "io.debezium.connector.postgresql.PostgresConnectorTask",
        ),
    ],
)
def test_the_task_is_what_javas_connector_would_make(connector: str, task: str) -> None:
    assert task_configs(OLD, connector, STARTED) == [{"x": "1", "task.class": task}]
    assert task_configs(OLD, connector, STOPPED) == []
