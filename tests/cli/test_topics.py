"""``moldau topics``."""

import json
from pathlib import Path

from tests.cli.conftest import Moldau, Result


def test_a_topic_is_created_described_altered_and_deleted(moldau: Moldau, topic: str) -> None:
    created = moldau("topics", "create", topic, "--partitions", "2", "--config", "flush.ms=9")
    assert created.out == f"Created topic {topic}: 2 partitions, replication factor 1.\n"
    assert topic in moldau("topics", "list").out.splitlines()

    lines = moldau("topics", "describe", topic).out.splitlines()
    assert lines[0] == f"{topic}: 2 partitions, replication factor 1"
    assert "  flush.ms=9" in lines
    assert lines[-1].split() == ["1", "1", "1", "1", "-", "0", "0"]

    assert moldau("topics", "alter", "--topic", topic, "--partitions", "3").code == 0
    (described,) = json.loads(moldau("topics", "describe", topic, "--format", "json").out)
    assert described["partitions"] == len(described["partition_details"]) == 3
    assert described["configs"] == {"flush.ms": "9"}

    assert moldau("topics", "delete", topic).out == f"Deleted topic {topic}.\n"
    assert topic not in moldau("topics", "list").out.splitlines()


def test_details_and_json_list_the_same_topics(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic)
    names = moldau("topics", "list").out.split()
    details = moldau("topics", "list", "--details").out.splitlines()
    assert details[0].split() == ["TOPIC", "PARTITIONS", "REPLICATION", "ID"]
    assert [line.split()[0] for line in details[1:]] == names
    listed = json.loads(moldau("topics", "list", "--format", "json").out)
    assert [each["name"] for each in listed] == names


def test_what_is_there_or_not_may_be_no_error(moldau: Moldau, topic: str) -> None:
    assert moldau("topics", "create", topic, "--if-not-exists").code == 0
    again = moldau("topics", "create", topic, "--if-not-exists")
    assert (again.code, again.out) == (0, f"Topic {topic} already exists.\n")
    assert "TOPIC_ALREADY_EXISTS" in moldau("topics", "create", topic).err
    assert moldau("topics", "delete", "nope", "--if-exists").code == 0
    assert moldau("topics", "alter", "nope", "--partitions", "3", "--if-exists").code == 0
    missing = moldau("topics", "delete", "nope")
    assert missing.err == "moldau: topic nope does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"


def test_replicas_can_be_placed_by_hand(moldau: Moldau, topic: str) -> None:
    created = moldau("topics", "create", topic, "--replica-assignment", "1,1,1")
    assert created.out == f"Created topic {topic}: 3 partitions, replication factor 1.\n"


def test_only_checking_makes_nothing(moldau: Moldau, topic: str) -> None:
    assert moldau("topics", "create", topic, "--validate-only").out.startswith("Would create")
    assert topic not in moldau("topics", "list").out.splitlines()


def test_security_settings_come_from_kafkas_file(moldau: Moldau, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"

    def listing(text: str) -> Result:
        config.write_text(text)
        return moldau("topics", "list", "--command-config", str(config))

    assert listing("security.protocol=PLAINTEXT\nclient.id=me\n").code == 0
    assert "security.protocol=TLS: must be one of PLAINTEXT" in listing("security.protocol=TLS").err
    # The broker that is asked speaks plainly, and the client no longer does.
    assert "if its listener does not use TLS" in listing("security.protocol=SSL").err


def test_a_config_that_is_not_there_is_named(moldau: Moldau) -> None:
    missing = moldau("topics", "list", "--command-config", "nowhere.properties")
    assert missing.code != 0
    assert "nowhere.properties: No such file" in missing.err


def test_a_wrong_command_line_says_what_to_write(moldau: Moldau, topic: str) -> None:
    assert moldau("topics", "create").err == "moldau: topics create: a topic name is required\n"
    wrong = moldau("topics", "create", topic, "--config", "flush.ms")
    assert (wrong.code, wrong.err) == (2, "moldau: --config flush.ms: expected key=value\n")
    wrong = moldau("topics", "create", topic, "--replica-assignment", "a")
    assert wrong.code == 2
    assert "expected broker:broker,broker:broker" in wrong.err
