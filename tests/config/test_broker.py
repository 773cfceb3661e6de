"""A broker's configuration as a whole."""

import pytest

from moldau.config.broker import (
    BROKER_SETTINGS,
    BrokerConfig,
    standalone_properties,
    validate_dynamic,
)
from moldau.config.broker_fields import BrokerFields
from moldau.config.definition import ConfigError
from moldau.config.listeners import Listener
from moldau.errors import ApiError, ErrorCode

STOCK = {
    "process.roles": "broker,controller",
    "node.id": "7",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
    "num.network.threads": "3",
    "log.dirs": "/a,/b",
    "log.retention.hours": "2",
}


def config(**changes: str) -> BrokerConfig:
    """The stock configuration with ``log_dirs="x"`` for ``log.dirs=x``."""
    given = {name.replace("_", "."): value for name, value in changes.items()}
    return BrokerConfig.from_properties({**STOCK, **given})


def test_every_setting_has_its_typed_attribute() -> None:
    attributes = {setting.attribute for setting in BROKER_SETTINGS.values()}
    assert attributes == set(BrokerFields.__annotations__)
    made = config()
    for attribute in attributes:
        getattr(made, attribute)


def test_kafkas_stock_configuration_works_as_it_is() -> None:
    made = config()
    assert made.node_id == made.broker_id == 7
    assert made.is_broker
    assert made.is_controller
    assert made.listeners == (
        Listener("PLAINTEXT", "", 9092, "PLAINTEXT"),
        Listener("CONTROLLER", "", 9093, "PLAINTEXT"),
    )
    assert made.advertised == (Listener("PLAINTEXT", "localhost", 9092, "PLAINTEXT"),)
    assert made.controller_listeners == (Listener("CONTROLLER", "", 9093, "PLAINTEXT"),)
    assert made.warnings == ()


def test_a_node_that_is_told_nothing_is_a_cluster_of_one_on_localhost() -> None:
    made = BrokerConfig.from_properties({})
    assert list(map(str, made.listeners)) == ["PLAINTEXT://localhost:9092"]
    assert made.controller_listeners == ()
    assert list(map(str, made.controller_endpoints)) == ["CONTROLLER://localhost:9092"]
    assert made.node_id == 1
    assert made.process_roles == ("broker", "controller")
    assert made.offsets_topic_replication_factor == 1
    assert made.controller_quorum_bootstrap_servers == ("localhost:9092",)
    assert made.warnings == ()
    changed = made.with_dynamic({"log.cleaner.threads": "2"}, {})
    assert changed.listeners == made.listeners


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        ("PLAINTEXT://:19092", "PLAINTEXT://:19092,CONTROLLER://:19093"),
        ("PLAINTEXT://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"),
        ("PLAINTEXT://[::1]:5", "PLAINTEXT://[::1]:5,CONTROLLER://[::1]:6"),
        ("PLAINTEXT://a:1,CONTROLLER://b:9", "PLAINTEXT://a:1,CONTROLLER://b:9"),
    ],
)
def test_the_controller_of_a_lone_node_listens_on_the_next_port_if_it_is_spoken_of(
    listeners: str, expected: str
) -> None:
    given = {"listeners": listeners, "controller.quorum.voters": "1@localhost:9"}
    assert standalone_properties(given)["listeners"] == expected
    if "CONTROLLER" not in listeners:
        assert standalone_properties({"listeners": listeners})["listeners"] == listeners


def test_a_node_with_roles_names_the_listener_of_its_controller() -> None:
    with pytest.raises(ConfigError, match="CONTROLLER is not one of the listeners"):
        config(listeners="PLAINTEXT://:9092")


def test_a_role_without_the_settings_it_needs_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"node\.id.*missing"):
        BrokerConfig.from_properties({"process.roles": "broker,controller"})


@pytest.mark.parametrize(
    ("given", "expected_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.ms": "-1"}, -1),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_retention_wins(given: dict[str, str], expected_ms: int) -> None:
    assert BrokerConfig.from_properties(given).log_retention_ms == expected_ms


def test_other_settings_that_derive_from_each_other() -> None:
    made = BrokerConfig.from_properties(
        {"log.roll.hours": "2", "log.roll.jitter.ms": "5", "log.flush.scheduler.interval.ms": "9"}
    )
    assert made.log_roll_ms == 7_200_000
    assert made.log_roll_jitter_ms == 5
    assert made.log_flush_interval_ms == 9
    assert made.log_dirs == ("/tmp/kafka-logs",)
    assert made.metadata_log_dir == "/tmp/kafka-logs"
    both = BrokerConfig.from_properties({"log.dir": "/x", "log.dirs": "/y,/z"})
    assert both.log_dirs == ("/y", "/z")
    assert both.num_replica_alter_log_dirs_threads == 2


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("log.segment.bytes", "100", "at least 1048576"),
        ("log.retention.ms", "0", "keep for ever"),
        ("listeners", "PLAINTEXT:9092", "must look like"),
        ("listeners", "PLAINTEXT://h:1,CONTROLLER://h:1", "two listeners have port 1"),
        ("listeners", "PLAINTEXT://h:1,PLAINTEXT://h:2,CONTROLLER://h:3", "unique name"),
        ("listeners", "PLAINTEXT://h:70000,CONTROLLER://h:3", "between 0 and 65535"),
        ("listeners", "INSIDE://h:1,CONTROLLER://h:3", "no security protocol is given for INSIDE"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:1", "clients cannot connect"),
        ("controller.listener.names", "OTHER", "not one of the listeners"),
        ("controller.quorum.voters", "9@h:1", "must contain node 7"),
        ("controller.quorum.voters", "nine", "write id@host:port"),
        ("broker.id", "3", "must equal node.id=7"),
        ("max.connections.per.ip", "0", "overrides is set"),
        ("max.connections.per.ip.overrides", "host", "write host:count"),
        ("process.roles", "queen", "one of: broker, controller"),
        ("queued.max.request.bytes", "5", "socket.request.max.bytes"),
        ("log.cleaner.min.compaction.lag.ms", "9223372036854775807", ""),
    ],
)
def test_a_wrong_setting_stops_with_name_value_and_remedy(
    name: str, value: str, problem: str
) -> None:
    changes = {name: value}
    if not problem:
        changes["log.cleaner.max.compaction.lag.ms"] = "5"
    with pytest.raises(ConfigError) as caught:
        BrokerConfig.from_properties({**STOCK, **changes})
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("listener.security.protocol.map", "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"),
        ("ssl.client.auth", "required"),
        ("create.topic.policy.class.name", "com.example.Policy"),
        ("remote.log.storage.system.enable", "true"),
    ],
)
def test_what_would_be_unsafe_to_ignore_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match="does not support"):
        BrokerConfig.from_properties({**STOCK, name: value})


def test_a_refused_setting_may_say_its_default() -> None:
    assert config(authorizer_class_name="").authorizer_class_name == ""
    assert config(ssl_client_auth="none").ssl_client_auth == "none"


def test_settings_without_effect_and_unknown_ones_are_named_in_warnings() -> None:
    made = config(group_share_max_size="5", my_own="x", num_partitions="3")
    assert len(made.warnings) == 2
    assert any("group.share.max.size=5" in warning for warning in made.warnings)
    assert any("my.own" in warning for warning in made.warnings)


def test_a_configuration_does_not_change() -> None:
    with pytest.raises(AttributeError, match="is immutable"):
        config().node_id = 3


def test_secrets_do_not_show_in_the_representation() -> None:
    assert "hunter2" not in repr(config(ssl_key_password="hunter2"))


def test_dynamic_settings_lie_over_the_files_own() -> None:
    made = config(message_max_bytes="1000")
    changed = made.with_dynamic({"message.max.bytes": "2000", "num.partitions": "9"}, {})
    assert changed.message_max_bytes == 2000
    assert changed.num_partitions == 1, "num.partitions cannot change while running"
    both = made.with_dynamic({"message.max.bytes": "2000"}, {"message.max.bytes": "3000"})
    assert both.message_max_bytes == 3000
    assert made.with_dynamic({}, {}) is made
    assert made.with_dynamic({"message.max.bytes": "bad"}, {}).message_max_bytes == 1000


@pytest.mark.parametrize(
    ("changes", "per_broker", "problem"),
    [
        ({"node.id": "5"}, True, "dynamically"),
        ({"message.max.bytes": "x"}, True, "Not a number"),
        ({"ssl.keystore.location": "/x"}, True, "for a listener"),
        ({"listeners": "PLAINTEXT://:1"}, False, "name a broker"),
        ({"listener.name.a.ssl.keystore.location": "/x"}, False, "name a broker"),
        ({"listener.name.a.max.connection.creation.rate": "0"}, False, "at least 1"),
    ],
)
def test_a_wrong_dynamic_change_is_an_invalid_request(
    changes: dict[str, str], per_broker: bool, problem: str
) -> None:
    with pytest.raises(ApiError, match=problem) as caught:
        validate_dynamic(changes, per_broker=per_broker)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_good_dynamic_changes_pass() -> None:
    validate_dynamic({"message.max.bytes": "5", "some.thing": "else"}, per_broker=False)
    validate_dynamic({"leader.replication.throttled.rate": "5"}, per_broker=True)
    validate_dynamic({"listener.name.a.max.connections": "5"}, per_broker=False)


def test_listeners_have_connection_limits_of_their_own_from_the_file_and_while_running() -> None:
    made = config(
        **{
            "listener.name.plaintext.max.connections": "5",
            "listener.name.plaintext.max.connection.creation.rate": "7",
        }
    )
    assert made.listener_max_connections == {"PLAINTEXT": 5}
    assert made.listener_connection_rates == {"PLAINTEXT": 7}
    assert not made.warnings
    later = made.with_dynamic({"listener.name.plaintext.max.connections": "6"}, {})
    assert later.listener_max_connections == {"PLAINTEXT": 6}
    assert later.listener_connection_rates == {"PLAINTEXT": 7}
