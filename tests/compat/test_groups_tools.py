"""Apache Kafka's command-line tools for groups, with all their options."""

import json
import subprocess
from pathlib import Path

import pytest
from tools.brokers import Broker, kafka_dir

from tests.compat.clients.members import Kind, Member, MemberFactory, wait_for, wait_until_shared
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.group_reading import GroupTopic
from tests.compat.java_tools import JavaTools, Output

PARTITIONS = 3
RECORDS = 10


@pytest.fixture(scope="module")
def group_tools(group_broker: Broker) -> JavaTools:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return JavaTools(group_broker.bootstrap)


@pytest.fixture
def reading(group_broker: Broker, topic: str) -> GroupTopic:
    written = GroupTopic(group_broker.bootstrap, topic, PARTITIONS)
    written.write(RECORDS)
    return written


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture(params=["classic", "consumer"])
def member(
    request: pytest.FixtureRequest,
    group_broker: Broker,
    members: MemberFactory,
    reading: GroupTopic,
    group: str,
) -> Member:
    """The only member of its group, which has read everything."""
    kind = Kind("confluent-kafka", request.param)
    one = members.start(kind, group_broker.bootstrap, group, reading.name)
    wait_until_shared([one], PARTITIONS)
    wait_for(lambda: reading.committed(group) == reading.ends, lambda: one)
    return one


def groups(tools: JavaTools, *arguments: str | Path) -> Output:
    return tools.run("kafka-consumer-groups", *arguments)


def rows(output: Output) -> list[list[str]]:
    """The lines of a table under its header."""
    lines = [line.split() for line in output.lines]
    start = next(n for n, words in enumerate(lines) if words[0] in ("GROUP", "TOPIC"))
    return lines[start + 1 :]


def test_a_group_in_use_is_described_in_every_way(
    group_tools: JavaTools, member: Member, reading: GroupTopic, group: str
) -> None:
    protocol = "consumer" if "consumer" in member.name.split("kafka")[1] else "classic"
    listed = groups(group_tools, "--list", "--state", "Stable").lines
    assert [group, "Stable"] in [line.split() for line in listed]
    listed = groups(group_tools, "--list", "--type", protocol).lines
    assert [group, protocol.capitalize()] in [line.split() for line in listed]
    assert group in groups(group_tools, "--list").lines

    described = rows(groups(group_tools, "--describe", "--group", group, "--offsets"))
    assert len(described) == PARTITIONS
    for row in described:
        assert row[:2] == [group, reading.name]
        assert row[3:6] == ["10", "10", "0"]
        assert row[7] == "/127.0.0.1"

    verbose = rows(groups(group_tools, "--describe", "--group", group, "--members", "--verbose"))
    (only,) = verbose
    assert only[0] == group
    assert f"{reading.name}:0,1,2" in " ".join(only)

    (state,) = rows(groups(group_tools, "--describe", "--group", group, "--state", "--verbose"))
    assert state[0] == group
    assert "Stable" in state
    assert state[-1] == "1"

    refused = group_tools.attempt("kafka-consumer-groups", "--delete", "--group", group)
    assert "GroupNotEmptyException" in refused.both
    reset = ("--reset-offsets", "--group", group, "--all-topics", "--to-earliest", "--execute")
    refused = group_tools.attempt("kafka-consumer-groups", *reset)
    assert "inactive" in refused.both
    forget = ("--delete-offsets", "--group", group, "--topic", reading.name)
    refused = group_tools.attempt("kafka-consumer-groups", *forget)
    assert "GroupSubscribedToTopicException" in refused.both


def test_offsets_are_reset_in_every_way(
    group_tools: JavaTools, reading: GroupTopic, group: str, tmp_path: Path
) -> None:
    """Dry runs show where it would go; a plan is exported, executed from its file, and holds."""

    def reset(*arguments: str | Path) -> dict[int, int]:
        scope = [] if "--from-file" in arguments else ["--topic", reading.name]
        output = groups(group_tools, "--reset-offsets", "--group", group, *scope, *arguments)
        return {int(row[2]): int(row[3]) for row in rows(output)}

    everywhere = range(PARTITIONS)
    assert reset("--to-latest", "--dry-run") == dict.fromkeys(everywhere, 10)
    assert reading.committed(group) == {}
    assert reset("--to-offset", "4", "--execute") == dict.fromkeys(everywhere, 4)
    assert reading.committed(group) == dict.fromkeys(everywhere, 4)
    assert reset("--shift-by", "-3", "--execute") == dict.fromkeys(everywhere, 1)
    assert reset("--to-current", "--dry-run") == dict.fromkeys(everywhere, 1)
    assert reset("--by-duration", "PT1H", "--dry-run") == dict.fromkeys(everywhere, 0)
    future = "2099-01-01T00:00:00.000"
    assert reset("--to-datetime", future, "--dry-run") == dict.fromkeys(everywhere, 10)
    assert reset("--to-earliest", "--execute") == dict.fromkeys(everywhere, 0)

    arguments = ("--reset-offsets", "--group", group, "--topic", f"{reading.name}:1")
    exported = groups(group_tools, *arguments, "--to-offset", "7", "--export").lines
    assert exported == [f"{reading.name},1,7"]
    file = tmp_path / "offsets.csv"
    file.write_text("\n".join(exported) + "\n")
    assert reset("--from-file", file, "--execute") == {1: 7}
    assert reading.committed(group) == {0: 0, 1: 7, 2: 0}


def test_offsets_and_groups_are_deleted(
    group_tools: JavaTools, reading: GroupTopic, group: str
) -> None:
    scope = ("--group", group, "--topic", reading.name)
    groups(group_tools, "--reset-offsets", *scope, "--to-latest", "--execute")
    forgotten = groups(
        group_tools, "--delete-offsets", "--group", group, "--topic", f"{reading.name}:0"
    )
    assert "Request succeeded for deleting offsets" in forgotten.both
    assert reading.committed(group) == {1: 10, 2: 10}
    described = groups(group_tools, "--describe", "--all-groups", "--all-topics").both
    assert group in described
    assert "has no active members" in described
    assert (
        "Deletion of requested consumer groups"
        in groups(group_tools, "--delete", "--group", group).both
    )
    gone = group_tools.attempt("kafka-consumer-groups", "--describe", "--group", group)
    assert "GroupIdNotFoundException" in gone.both


def test_groups_of_every_kind_are_listed(
    group_tools: JavaTools, member: Member, group: str
) -> None:
    protocol = "Consumer" if "consumer" in member.name.split("kafka")[1] else "Classic"
    for options in ((), ("--consumer",), ("--group-type", protocol.lower())):
        listed = group_tools.run("kafka-groups", "--list", *options).lines
        assert [group, protocol, "consumer"] in [line.split() for line in listed]
    for options in (("--share",), ("--streams",)):
        listed = group_tools.run("kafka-groups", "--list", *options).lines
        assert group not in [line.split()[0] for line in listed]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_verifiable_consumer_reads_and_commits(
    group_tools: JavaTools, reading: GroupTopic, group: str, protocol: str
) -> None:
    command = [
        str(kafka_dir() / "bin" / "kafka-verifiable-consumer"),
        *("--bootstrap-server", group_tools.bootstrap, "--topic", reading.name),
        *("--group-id", group, "--group-protocol", protocol, "--reset-policy", "earliest"),
        *("--max-messages", str(PARTITIONS * RECORDS)),
    ]
    if protocol == "classic":
        command += ["--session-timeout", "6000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["name"] for event in events]
    assert names[0] == "startup_complete"
    assert "shutdown_complete" in names
    assigned = [event for event in events if event["name"] == "partitions_assigned"]
    assert sorted(each["partition"] for event in assigned for each in event["partitions"]) == list(
        range(PARTITIONS)
    )
    read = sum(event["count"] for event in events if event["name"] == "records_consumed")
    assert read == PARTITIONS * RECORDS
    assert all(event["success"] for event in events if event["name"] == "offsets_committed")
    assert reading.committed(group) == reading.ends


def test_the_console_consumer_goes_on_where_its_group_left_off(
    group_tools: JavaTools, reading: GroupTopic, group: str
) -> None:
    options = ("--topic", reading.name, "--group", group, "--from-beginning")
    first = group_tools.run("kafka-console-consumer", *options, "--max-messages", "12").lines
    assert len(first) == 12
    assert sum(reading.committed(group).values()) == 12
    rest = group_tools.run("kafka-console-consumer", *options, "--max-messages", "18").lines
    assert sorted(first + rest) == sorted(f"record {n}" for n in range(10) for _ in range(3))
