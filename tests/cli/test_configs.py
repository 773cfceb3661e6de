"""``moldau configs``."""

import json

import pytest

from tests.cli.conftest import Moldau


def test_settings_of_a_topic_are_altered_and_described(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic)
    nothing = moldau("configs", "describe", "--topic", topic)
    assert nothing.out == "No configurations are set; --all shows the defaults.\n"

    changes = "flush.ms=5,cleanup.policy=[compact,delete]"
    altered = moldau("configs", "alter", "--topic", topic, "--add-config", changes)
    assert altered.out == f"Changed flush.ms, cleanup.policy of topic {topic}.\n"
    lines = moldau("configs", "describe", "--topic", topic).out.splitlines()
    assert [line.split() for line in lines] == [
        ["SETTING", "VALUE", "SOURCE"],
        ["cleanup.policy", "compact,delete", "topic"],
        ["flush.ms", "5", "topic"],
    ]

    moldau("configs", "alter", "--topic", topic, "--delete-config", "flush.ms")
    shown = json.loads(moldau("configs", "describe", "--topic", topic, "--format", "json").out)
    assert [each["name"] for each in shown] == ["cleanup.policy"]
    assert shown[0]["type"] == "LIST"
    assert shown[0]["synonyms"][0] == {
        "name": "cleanup.policy",
        "value": "compact,delete",
        "source": "TOPIC_CONFIG",
    }


def test_all_settings_and_single_ones_are_shown(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic)
    everything = moldau("configs", "describe", "--topic", topic, "--all").out.splitlines()
    assert len(everything) == 34
    one = moldau("configs", "describe", "--topic", topic, "retention.ms").out.splitlines()
    assert one[1].split() == ["retention.ms", "604800000", "default"]


def test_kafkas_own_way_to_name_things_works(moldau: Moldau) -> None:
    entity = ("--entity-type", "brokers", "--entity-default")
    changed = moldau("configs", "alter", *entity, "--add-config", "message.max.bytes=3000000")
    assert changed.out == "Changed message.max.bytes of all brokers.\n"
    lines = moldau("configs", "describe", "--broker", "1").out.splitlines()
    assert any(line.split()[:2] == ["message.max.bytes", "3000000"] for line in lines)
    moldau("configs", "alter", "--broker-defaults", "--delete-config", "message.max.bytes")


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("alter", "--topic", "t"), 2, "--add-config or --delete-config is required"),
        (("alter", "--topic", "t", "--add-config", "x"), 2, "expected key=value"),
        (("describe", "--entity-type", "topics"), 2, "--entity-name is required"),
        (("describe", "--entity-type", "topics", "--entity-default"), 2, "only brokers"),
        (("describe", "--topic", "nope"), 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("describe", "--broker", "9"), 1, "there is no broker 9; the cluster has 1"),
        (("describe", "--broker", "one"), 1, "must be a number"),
        (("alter", "--broker", "1", "--add-config", "node.id=3"), 1, "dynamically"),
    ],
)
def test_what_is_wrong_is_said(
    moldau: Moldau, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    result = moldau("configs", *arguments)
    assert result.code == code
    assert problem in result.err
