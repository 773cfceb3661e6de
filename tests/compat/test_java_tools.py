"""Apache Kafka's command-line tools against the broker."""

import json
from pathlib import Path

import pytest
from tools.brokers import Broker

from tests.compat.clients.base import Client
from tests.compat.java_tools import JavaTools
from tests.compat.sample import text_records


def create(tools: JavaTools, topic: str, *options: str) -> None:
    tools.run("kafka-topics", "--create", "--topic", topic, *options)


def test_topics_are_created_described_grown_and_deleted(tools: JavaTools, topic: str) -> None:
    create(tools, topic, "--partitions", "3", "--config", "retention.ms=86400000")
    assert topic in tools.run("kafka-topics", "--list").lines

    tools.run("kafka-topics", "--alter", "--topic", topic, "--partitions", "5")

    head, *partitions = tools.run("kafka-topics", "--describe", "--topic", topic).lines
    assert f"Topic: {topic}\tTopicId: " in head
    assert "PartitionCount: 5\tReplicationFactor: 1\t" in head
    assert "retention.ms=86400000" in head
    broker = tools.broker_id
    assert partitions == [
        f"Topic: {topic}\tPartition: {number}\tLeader: {broker}\tReplicas: {broker}"
        f"\tIsr: {broker}\tElr: \tLastKnownElr:"
        for number in range(5)
    ]

    tools.run("kafka-topics", "--delete", "--topic", topic)
    assert topic not in tools.run("kafka-topics", "--list").lines


@pytest.mark.parametrize(
    ("arguments", "exception"),
    [
        (["--create", "--topic", "not a name"], "InvalidTopicException"),
        (["--create", "--topic", "x" * 250], "InvalidTopicException"),
        (["--create", "--topic", "ok-1", "--config", "no.such=1"], "InvalidConfigurationException"),
        (
            ["--create", "--topic", "ok-3", "--replication-factor", "3"],
            "InvalidReplicationFactorException",
        ),
        (
            ["--create", "--topic", "ok-4", "--replica-assignment", "4711"],
            "InvalidReplicaAssignmentException",
        ),
    ],
)
def test_a_wrong_topic_is_refused_with_kafkas_exception(
    tools: JavaTools, arguments: list[str], exception: str
) -> None:
    output = tools.attempt("kafka-topics", *arguments)
    assert output.status != 0
    assert exception in output.both


def test_partitions_are_not_taken_away(tools: JavaTools, topic: str) -> None:
    create(tools, topic, "--partitions", "3")
    output = tools.attempt("kafka-topics", "--alter", "--topic", topic, "--partitions", "2")
    assert output.status != 0
    assert "InvalidPartitionsException" in output.both


def test_the_console_producer_and_consumer_carry_keys_headers_and_nulls(
    tools: JavaTools, topic: str
) -> None:
    create(tools, topic)
    lines = "colour:blue,size:10|k1|first\ncolour:red|k2|NULL\nNULL|NULL|third\n"
    properties = ["parse.key=true", "parse.headers=true", "key.separator=|"]
    properties += ["headers.delimiter=|", "null.marker=NULL"]
    options = [word for name in properties for word in ("--reader-property", name)]
    tools.run("kafka-console-producer", "--topic", topic, *options, stdin=lines.encode())

    printed = [f"print.{what}=true" for what in ("key", "offset", "headers", "partition")]
    options = [word for name in printed for word in ("--formatter-property", name)]
    where = ["--partition", "0", "--offset", "earliest", "--max-messages", "3"]
    output = tools.run("kafka-console-consumer", "--topic", topic, *where, *options)

    assert output.lines == [
        "Partition:0\tOffset:0\tcolour:blue,size:10\tk1\tfirst",
        "Partition:0\tOffset:1\tcolour:red\tk2\tnull",
        "Partition:0\tOffset:2\tNO_HEADERS\tnull\tthird",
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_console_tools_work_with_every_codec(tools: JavaTools, topic: str, codec: str) -> None:
    create(tools, topic)
    text = "".join(f"line {number} of many that are much alike\n" for number in range(200))
    produce = ["--topic", topic, "--compression-codec", codec]
    tools.run("kafka-console-producer", *produce, stdin=text.encode())
    where = ["--partition", "0", "--offset", "150", "--max-messages", "50"]
    output = tools.run("kafka-console-consumer", "--topic", topic, *where)
    assert output.lines == text.splitlines()[150:]


def test_offsets_are_got_for_every_kind_of_time(tools: JavaTools, java: Client, topic: str) -> None:
    java.create_topic(topic, 2)
    records = text_records(10)
    # The youngest record is not the last one.
    records[6] = records[6]._replace(timestamp=records[9].timestamp + 500)
    java.produce(topic, records)

    assert tools.offsets(topic, "latest") == {0: 10, 1: 0}
    assert tools.offsets(topic, "-1") == {0: 10, 1: 0}
    assert tools.offsets(topic, "earliest") == {0: 0, 1: 0}
    assert tools.offsets(topic, "-2") == {0: 0, 1: 0}
    assert tools.offsets(topic, "max-timestamp") == {0: 6}
    assert tools.offsets(topic, "-3") == {0: 6}
    assert tools.offsets(topic, "earliest-local") == {0: 0, 1: 0}
    assert tools.offsets(topic, "latest-tiered") == {}
    assert tools.offsets(topic, "earliest-pending-upload") == {}
    assert tools.offsets(topic, str(records[3].timestamp)) == {0: 3}
    assert tools.offsets(topic, str(records[3].timestamp + 1)) == {0: 4}
    assert tools.offsets(topic, str(records[9].timestamp + 501)) == {}


def test_records_are_deleted_up_to_an_offset(
    tools: JavaTools, java: Client, topic: str, tmp_path: Path
) -> None:
    java.create_topic(topic, 2)
    java.produce(topic, text_records(20) + text_records(10, partition=1))
    wanted = [
        {"topic": topic, "partition": 0, "offset": 12},
        {"topic": topic, "partition": 1, "offset": -1},
    ]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))

    output = tools.run("kafka-delete-records", "--offset-json-file", plan)

    assert f"partition: {topic}-0\tlow_watermark: 12" in output.stdout
    assert f"partition: {topic}-1\tlow_watermark: 10" in output.stdout
    assert tools.offsets(topic, "earliest") == {0: 12, 1: 10}
    assert java.consume(topic, {0: 12}, 8)[0].value == b"record-12"


def test_deleting_past_the_end_is_out_of_range(
    tools: JavaTools, topic: str, tmp_path: Path
) -> None:
    create(tools, topic)
    plan = tmp_path / "plan.json"
    wanted = [{"topic": topic, "partition": 0, "offset": 1}]
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
    output = tools.attempt("kafka-delete-records", "--offset-json-file", plan)
    assert "OffsetOutOfRangeException" in output.both


def test_topic_settings_are_altered_and_described_with_their_sources(
    tools: JavaTools, topic: str
) -> None:
    create(tools, topic)
    alter = ["kafka-configs", "--alter", "--topic", topic]
    describe = ["kafka-configs", "--describe", "--topic", topic]
    tools.run(*alter, "--add-config", "retention.ms=5000000,cleanup.policy=[compact,delete]")

    assert tools.run(*describe).lines == [
        f"Dynamic configs for topic {topic} are:",
        "cleanup.policy=compact,delete sensitive=false synonyms="
        "{DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete,"
        " DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "retention.ms=5000000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000000}",
    ]

    tools.run(*alter, "--delete-config", "retention.ms,cleanup.policy")
    assert tools.run(*describe).lines == [f"Dynamic configs for topic {topic} are:"]


def test_a_setting_that_does_not_parse_is_refused(tools: JavaTools, topic: str) -> None:
    create(tools, topic)
    change = ["--alter", "--topic", topic, "--add-config", "retention.ms=soon"]
    output = tools.attempt("kafka-configs", *change)
    assert output.status != 0
    assert "InvalidConfigurationException" in output.both
    assert "retention.ms" in output.both
    assert "soon" in output.both


def test_every_topic_setting_is_described_as_apache_kafka_describes_it(
    tools: JavaTools, apache_kafka: Broker, topic: str
) -> None:
    peer = JavaTools(apache_kafka.bootstrap)
    settings = ["--config", "retention.ms=3600000", "--config", "max.message.bytes=2000000"]
    shown = []
    for side in (peer, tools):
        create(side, topic, *settings)
        shown.append(side.run("kafka-configs", "--describe", "--all", "--topic", topic).lines)
    assert shown[1] == shown[0]


def test_every_broker_setting_is_described_as_apache_kafka_describes_it(
    tools: JavaTools, apache_kafka: Broker
) -> None:
    """The same names; and where both stand at the default, the same lines."""

    def settings(side: JavaTools) -> dict[str, str]:
        arguments = ["--describe", "--all", "--broker", side.broker_id]
        lines = side.run("kafka-configs", *arguments).lines[1:]
        return dict(line.split("=", 1) for line in lines)

    theirs, ours = settings(JavaTools(apache_kafka.bootstrap)), settings(tools)
    assert sorted(ours) == sorted(theirs)
    static = {name for side in (ours, theirs) for name, line in side.items() if "STATIC_" in line}
    at_default = [name for name in theirs if name not in static]
    assert len(at_default) > 200
    assert {name: ours[name] for name in at_default} == {name: theirs[name] for name in at_default}


def test_dynamic_broker_settings_come_and_go(tools: JavaTools) -> None:
    one = ["kafka-configs", "--broker", tools.broker_id]
    tools.run(*one, "--alter", "--add-config", "log.cleaner.threads=2")
    assert tools.run(*one, "--describe").lines[1:] == [
        "log.cleaner.threads=2 sensitive=false synonyms="
        "{DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2, DEFAULT_CONFIG:log.cleaner.threads=1}"
    ]
    tools.run(*one, "--alter", "--delete-config", "log.cleaner.threads")
    assert tools.run(*one, "--describe").lines[1:] == []

    everywhere = ["kafka-configs", "--broker-defaults"]
    tools.run(*everywhere, "--alter", "--add-config", "log.retention.ms=123456789")
    described = tools.run(*everywhere, "--describe").stdout
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=123456789" in described
    tools.run(*everywhere, "--alter", "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in tools.run(*everywhere, "--describe").stdout


def test_a_read_only_broker_setting_is_refused(tools: JavaTools) -> None:
    change = ["--alter", "--broker", tools.broker_id, "--add-config", "log.dirs=elsewhere"]
    output = tools.attempt("kafka-configs", *change)
    assert output.status != 0
    assert "InvalidRequestException" in output.both


def test_log_directories_are_described(tools: JavaTools, java: Client, topic: str) -> None:
    java.create_topic(topic, 2)
    java.produce(topic, text_records(100))

    lines = tools.run("kafka-log-dirs", "--describe", "--topic-list", topic).lines

    description = json.loads(next(line for line in lines if line.startswith("{")))
    directory = description["brokers"][0]["logDirs"][0]
    assert directory["error"] is None
    replicas = {one["partition"]: one for one in directory["partitions"]}
    assert replicas[f"{topic}-0"]["size"] > 1000
    assert replicas[f"{topic}-1"] == {
        "partition": f"{topic}-1",
        "size": 0,
        "offsetLag": 0,
        "isFuture": False,
    }


def test_the_api_versions_are_understood_by_the_newest_client(tools: JavaTools) -> None:
    lines = tools.run("kafka-broker-api-versions").lines
    usable = {line.split("(")[0]: line for line in lines if "[usable: " in line}
    assert "to 13 [usable: 13]" in usable["Produce"]
    assert "4 to 18 [usable: 18]" in usable["Fetch"]
    assert "1 to 11 [usable: 11]" in usable["ListOffsets"]
    assert "0 to 13 [usable: 13]" in usable["Metadata"]


def test_the_cluster_and_its_endpoints_are_shown(tools: JavaTools) -> None:
    assert tools.run("kafka-cluster", "cluster-id").stdout.startswith("Cluster ID: ")
    _, endpoint = tools.run("kafka-cluster", "list-endpoints").lines
    host, port = tools.bootstrap.rsplit(":", 1)
    assert endpoint.split() == [tools.broker_id, host, port, "null", "unfenced", "broker"]


def test_the_features_are_shown(tools: JavaTools) -> None:
    output = tools.run("kafka-features", "describe").stdout
    assert "metadata.version" in output
    assert "FinalizedVersionLevel: 4.3-IV0" in output


def test_the_producer_performance_tool_loses_nothing(tools: JavaTools, topic: str) -> None:
    create(tools, topic, "--partitions", "6")
    load = ["--num-records", "20000", "--record-size", "500", "--throughput", "-1"]
    output = tools.run("kafka-producer-perf-test", "--topic", topic, *load)
    assert "20000 records sent" in output.stdout
    assert sum(tools.offsets(topic, "latest").values()) == 20000


def test_the_verifiable_producer_gets_every_record_acknowledged(
    tools: JavaTools, topic: str
) -> None:
    create(tools, topic)
    output = tools.run("kafka-verifiable-producer", "--topic", topic, "--max-messages", "500")
    total = json.loads(output.lines[-1])
    assert (total["name"], total["sent"], total["acked"]) == ("tool_data", 500, 500)
    assert tools.offsets(topic, "latest") == {0: 500}


@pytest.mark.usefixtures("needs_groups")
def test_the_consumer_performance_tool_reads_everything(
    tools: JavaTools, java: Client, topic: str
) -> None:
    java.create_topic(topic)
    java.produce(topic, text_records(2000))
    output = tools.run("kafka-consumer-perf-test", "--topic", topic, "--num-records", "2000")
    assert output.lines[-1].split(", ")[4] == "2000"
