"""Kafka's properties files of workers, and mistakes in them."""

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import RestListener
from moldau.connect.stores.topic_log import TopicSettings
from moldau.connect.worker_config import WorkerConfig

# The settings of Kafka's connect-distributed.properties.
DISTRIBUTED = """
bootstrap.servers=localhost:9092
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=true
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
offset.flush.interval.ms=10000
"""
STANDALONE = """
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename=/tmp/connect.offsets
"""


def distributed(more: str = "") -> WorkerConfig:
    return WorkerConfig.from_text(DISTRIBUTED + more, distributed=True)


def test_kafkas_file_is_read_unchanged() -> None:
    config = distributed()
    assert config.warnings == ()
    assert config.bootstrap == "localhost:9092"
    assert config.group_id == "connect-cluster"
    assert config.listeners == [RestListener("127.0.0.1", 8083)]
    assert config.admin_listeners is None
    assert config.values["moldau.trigger.ms"] == 1000
    assert config.values["session.timeout.ms"] == 10_000
    assert config.topic("config") == TopicSettings(
        "connect-configs", "config.storage.topic", "connector configurations", 1, 1
    )
    assert config.topic("offset").partitions == 25
    assert config.topic("status").partitions == 5


def test_kafkas_standalone_file_is_read_unchanged() -> None:
    config = WorkerConfig.from_text(STANDALONE, distributed=False)
    assert config.warnings == ()
    assert config.values["offset.storage.file.filename"] == "/tmp/connect.offsets"


def test_settings_of_internal_topics_go_through_but_not_the_cleanup_policy() -> None:
    more = "offset.storage.segment.bytes=1048576\noffset.storage.cleanup.policy=delete\n"
    assert distributed(more).topic("offset").configs == {"segment.bytes": "1048576"}


def test_clients_get_the_workers_security_and_their_own_settings() -> None:
    config = distributed(
        "security.protocol=SASL_PLAINTEXT\n"
        "sasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="ada" password="s3cret";\n'
        "producer.linger.ms=20\n"
        "producer.sasl.mechanism=SCRAM-SHA-256\n"
    )
    assert config.security.protocol == "SASL_PLAINTEXT"
    overrides = config.client_overrides("producer")
    assert overrides["linger.ms"] == "20"
    assert overrides["sasl.mechanism"] == "SCRAM-SHA-256"
    assert overrides["security.protocol"] == "SASL_PLAINTEXT"
    assert "s3cret" not in repr(config)


def test_settings_without_effect_are_named() -> None:
    warnings = distributed(
        "plugin.path=/usr/share/java\nofset.flush.interval.ms=1\nmetrics.num.samples=2\n"
        "offset.storage.file.filename=/tmp/x\nwhat=ever\n"
    ).warnings
    assert [each.split()[0] for each in warnings] == [
        "metrics.num.samples",
        "ofset.flush.interval.ms",
        "plugin.path",
        "what",
    ]
    assert "did you mean offset.flush.interval.ms?" in warnings[1]
    assert "entry points" in warnings[2]


def test_the_advertised_url_is_the_listener_unless_it_is_set() -> None:
    assert distributed().advertised_url([18083]) == "http://127.0.0.1:18083/"
    more = "rest.advertised.host.name=connect.example\nrest.advertised.port=80\n"
    assert distributed(more).advertised_url([18083]) == "http://connect.example:80/"
    assert distributed("listeners=http://[::1]:9\n").advertised_url([9]) == "http://[::1]:9/"
    assert distributed("listeners=http://:8083\n").listeners == [RestListener("", 8083)]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("group.id=\n", "group.id"),
        ("bootstrap.servers=\n", "bootstrap.servers"),
        ("session.timeout.ms=soon\n", "session.timeout.ms cannot be soon"),
        ("heartbeat.interval.ms=10000\n", "less than session.timeout.ms=10000"),
        ("offset.storage.partitions=0\n", "at least 1, or -1"),
        ("status.storage.topic=connect-offsets\n", "must be three topics"),
        ("listeners=8083\n", "write http://host:port"),
        ("exactly.once.source.support=maybe\n", "exactly.once.source.support"),
        ("security.protocol=TLS\n", "security.protocol=TLS: must be one of"),
        ("config.providers=file\n", "config.providers.file.class"),
    ],
)
def test_a_wrong_setting_is_named(more: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        distributed(more)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"group\.id is required"):
        WorkerConfig.from_text(STANDALONE, distributed=True)


def test_secrets_of_the_worker_come_from_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERS", "kafka.example:9093")
    config = distributed(
        "config.providers=env\n"
        "config.providers.env.class="
        "org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "bootstrap.servers=${env:BROKERS}\n"
    )
    assert config.bootstrap == "kafka.example:9093"
