"""Offsets of connectors, which the user may see and change while they are stopped (KIP-875)."""

import threading
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.connect.data.errors import ConnectError
from moldau.connect.rest_errors import BadRequestError, RestError
from moldau.ids import TopicPartition
from tests.connect.herding import SOURCE, STORING_SINK, Herding, StoringSink, config, running
from tests.running import RunningBroker


def test_offsets_of_a_sink_are_those_of_its_group(broker: RunningBroker, herding: Herding) -> None:
    herder = herding.herder
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("sunk", 2, 1)
        admin.groups.alter_offsets("connect-drain", {TopicPartition("sunk", 1): 5})
    running(herding, "drain")
    partition = {"kafka_topic": "sunk", "kafka_partition": 1}
    assert herder.offsets("drain") == {
        "offsets": [{"partition": partition, "offset": {"kafka_offset": 5}}]
    }
    with pytest.raises(BadRequestError, match="drain can change only while it is STOPPED"):
        herder.alter_offsets("drain", [{"partition": partition, "offset": {"kafka_offset": 2}}])
    herder.stop("drain")
    other = {"kafka_topic": "sunk", "kafka_partition": "0"}
    message = herder.alter_offsets(
        "drain",
        [
            {"partition": partition, "offset": None},
            {"partition": other, "offset": {"kafka_offset": "7"}},
        ],
    )
    assert "are altered. " in message
    assert herder.offsets("drain") == {
        "offsets": [
            {
                "partition": {"kafka_topic": "sunk", "kafka_partition": 0},
                "offset": {"kafka_offset": 7},
            }
        ]
    }
    assert "are reset" in herder.reset_offsets("drain")
    assert herder.offsets("drain") == {"offsets": []}
    # Once more changes nothing.
    assert "are reset" in herder.reset_offsets("drain")


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        ({"offset": None}, "without a partition: give one with kafka_topic"),
        (
            {"partition": {"kafka_topic": "t"}},
            r"\{'kafka_topic': 't'\} needs kafka_topic and",
        ),
        ({"partition": {"kafka_topic": None, "kafka_partition": 0}}, "kafka_topic is null"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": None}}, "kafka_partition is null"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": "one"}}, "'one'"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {}}, "kafka_offset"),
        (
            {
                "partition": {"kafka_topic": "t", "kafka_partition": 0},
                "offset": {"kafka_offset": 1.5},
            },
            "offset of a sink must be an integer from 0 to .*not 1.5",
        ),
        (
            {
                "partition": {"kafka_topic": "t", "kafka_partition": 0},
                "offset": {"kafka_offset": -1},
            },
            "offset of a sink must be an integer from 0 to .*not -1",
        ),
    ],
)
def test_a_wrong_offset_of_a_sink_is_named(
    herding: Herding, offset: dict[str, Any], problem: str
) -> None:
    if "picky" not in herding.herder.connectors():
        herding.herder.create("picky", config("picky"), "STOPPED")
    with pytest.raises(BadRequestError, match=problem):
        herding.herder.alter_offsets("picky", [offset])


def test_no_offsets_are_refused(herding: Herding) -> None:
    with pytest.raises(BadRequestError, match="There are no offsets"):
        herding.herder.alter_offsets("picky", [])


def test_offsets_that_a_sink_stores_in_its_target_are_changed_there_too(
    broker: RunningBroker, herding: Herding
) -> None:
    herder = herding.herder
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("kept", 1, 1)
    running(herding, "keeper", STORING_SINK)
    herder.stop("keeper")
    partition = {"kafka_topic": "kept", "kafka_partition": 0}
    wanted = {"partition": partition, "offset": {"kafka_offset": 3}}
    message = herder.alter_offsets("keeper", [wanted])
    assert message == "The offsets of this connector are altered"
    assert StoringSink.stored == {TopicPartition("kept", 0): 3}
    assert herder.offsets("keeper") == {"offsets": [wanted]}
    herder.reset_offsets("keeper")
    assert StoringSink.stored == {}
    assert herder.offsets("keeper") == {"offsets": []}


def test_offsets_in_a_target_are_reset_by_the_pattern_of_the_topics(
    broker: RunningBroker, herding: Herding
) -> None:
    """The group has none: they were deleted with the topic, which was then created again."""
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("made-again", 1, 1)
    running(herding, "matcher", STORING_SINK, **{"topics.regex": "made-.*"})
    herding.herder.stop("matcher")
    StoringSink.stored[TopicPartition("made-again", 0)] = 5
    herding.herder.reset_offsets("matcher")
    assert StoringSink.stored == {}


def test_offsets_of_a_source_are_in_the_offsets_topic(herding: Herding) -> None:
    herder = herding.herder
    herder.create("spring", config("spring", SOURCE), "STOPPED")
    herding.wait_for_state("spring", "STOPPED", [])
    one = {"partition": {"file": "a"}, "offset": {"position": 1}}
    other = {"partition": {"file": "b"}, "offset": {"position": 2}}
    assert herder.alter_offsets("spring", [one, other]) == (
        "The offsets of this connector are altered"
    )
    assert herder.offsets("spring") == {"offsets": [one, other]}
    herder.alter_offsets("spring", [{"partition": {"file": "a"}, "offset": None}])
    assert herder.offsets("spring") == {"offsets": [other]}
    assert "are reset" in herder.reset_offsets("spring")
    assert herder.offsets("spring") == {"offsets": []}
    with pytest.raises(BadRequestError, match="An entry without a partition"):
        herder.alter_offsets("spring", [{"offset": {}}])
    with pytest.raises(BadRequestError, match="must be an object or null"):
        herder.alter_offsets("spring", [{"partition": {}, "offset": 5}])
    with pytest.raises(BadRequestError, match="has a list or an object in it"):
        herder.alter_offsets("spring", [{"partition": {"file": ["a"]}, "offset": {"position": 1}}])


def test_offsets_are_not_changed_before_the_connector_has_stopped(
    broker: RunningBroker, herding: Herding
) -> None:
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("slow", 1, 1)
    running(herding, "slow")
    herding.engine.may_stop.clear()
    herding.herder.stop("slow")
    partition = {"kafka_topic": "slow", "kafka_partition": 0}
    changed = threading.Event()

    def change() -> None:
        offsets = [{"partition": partition, "offset": {"kafka_offset": 3}}]
        herding.herder.alter_offsets("slow", offsets)
        assert "stop slow" in herding.engine.calls
        changed.set()

    thread = threading.Thread(target=change)
    thread.start()
    assert not changed.wait(0.2)
    herding.engine.may_stop.set()
    thread.join()
    assert changed.is_set()


def test_no_secret_is_in_the_answer_to_a_change_that_failed(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(config: dict[str, str], offsets: object) -> bool:
        raise ConnectError(f"no login with {config['password']}")

    monkeypatch.setenv("TARGET_PASSWORD", "correct-horse")
    monkeypatch.setattr(StoringSink, "alter_offsets", refuse)
    monkeypatch.setattr(StoringSink, "stored", {TopicPartition("kept", 0): 3})
    package = "org.apache.kafka.common.config.provider"
    settings = {
        "config.providers": "env",
        "config.providers.env.class": f"{package}.EnvVarConfigProvider",
    }
    worker = Herding(broker.bootstrap, "hidden", settings=settings).start()
    try:
        given = config("keeper", STORING_SINK, password="${env:TARGET_PASSWORD}")
        worker.herder.create("keeper", given, "STOPPED")
        worker.wait_for_state("keeper", "STOPPED", [])
        partition = {"kafka_topic": "kept", "kafka_partition": 0}
        wanted = {"partition": partition, "offset": {"kafka_offset": 3}}
        with pytest.raises(RestError) as altering:
            worker.herder.alter_offsets("keeper", [wanted])
        with pytest.raises(RestError) as resetting:
            worker.herder.reset_offsets("keeper")
        for caught in (altering, resetting):
            assert caught.value.status == 500
            assert caught.value.message == "no login with ${env:TARGET_PASSWORD}"
            assert str(caught.value) == caught.value.message
    finally:
        worker.stop()
