"""Groups of topic.creation.*: which settings a new topic gets."""

from pathlib import Path

import pytest
from tools.brokers import free_port

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.engine.topic_creation import TopicMaker, topic_groups
from moldau.connect.engine_api import ConnectorSpec
from tests.running import RunningBroker

DEFAULT = {
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "-1",
}


def test_without_default_settings_no_topics_are_created() -> None:
    assert topic_groups({"topic.creation.groups": "a"}) == []


def test_the_first_group_that_matches_decides() -> None:
    groups = topic_groups(
        {
            **DEFAULT,
            "topic.creation.default.cleanup.policy": "compact",
            "topic.creation.groups": "big, log",
            "topic.creation.big.include": "orders,big.*",
            "topic.creation.big.exclude": "bigot",
            "topic.creation.big.partitions": "12",
            "topic.creation.log.include": r"[\p{Lower}.]*log",
            "topic.creation.log.retention.ms": "1000",
        }
    )

    def group(topic: str) -> str:
        return next(each.name for each in groups if each.matches(topic))

    names = ("orders", "biglog", "bigot", "a.log", "else")
    assert [group(name) for name in names] == ["big", "big", "default", "log", "default"]
    big, log, default = groups
    assert (big.partitions, big.replication_factor, big.configs) == (12, -1, {})
    assert (log.partitions, log.configs) == (3, {"retention.ms": "1000"})
    assert default.configs == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"topic.creation.default.partitions": "0"}, "topic.creation.default.partitions"),
        ({"topic.creation.groups": "x"}, "topic.creation.x.include"),
        ({"topic.creation.default.replication.factor": "two"}, "replication.factor"),
        (
            {"topic.creation.groups": "x", "topic.creation.x.include": "("},
            r"topic.creation.x.include cannot be \(: not a regular",
        ),
    ],
)
def test_wrong_settings_are_named(change: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        topic_groups({**DEFAULT, **change})


def test_numbers_are_required_in_default() -> None:
    with pytest.raises(ConfigError, match=r"topic.creation.default.replication.factor"):
        topic_groups({"topic.creation.default.partitions": "1"})


def test_brokers_that_are_away_are_waited_for() -> None:
    worker = {"bootstrap.servers": f"127.0.0.1:{free_port()}", "default.api.timeout.ms": "1000"}
    with pytest.raises(RetriableError, match="topic t"):
        TopicMaker(ConnectorSpec("c", DEFAULT, worker)).ensure("t")


def test_what_brokers_refuse_is_an_error(tmp_path: Path) -> None:
    config = {**DEFAULT, "topic.creation.default.replication.factor": "3"}
    with RunningBroker(tmp_path) as broker:
        worker = {"bootstrap.servers": broker.bootstrap}
        with pytest.raises(ConnectError, match=r"topic.creation.default.\*") as refused:
            TopicMaker(ConnectorSpec("c", config, worker)).ensure("t")
    assert not isinstance(refused.value, RetriableError)
