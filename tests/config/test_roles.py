"""The settings of nodes with one role, and of quorums with several voters."""

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.listeners import Listener

# As in Kafka's own config/broker.properties and config/controller.properties.
ONLY_BROKER = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092",
    "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092",
    "controller.listener.names": "CONTROLLER",
}
ONLY_CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "CONTROLLER://:9093",
    "advertised.listeners": "CONTROLLER://host:9193",
    "controller.listener.names": "CONTROLLER",
}
BOTH = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@h:9093,2@h:9094,3@h:9095",
    "listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9093",
    "controller.listener.names": "CONTROLLER",
}


def test_a_broker_needs_no_controller_listener() -> None:
    made = BrokerConfig.from_properties(ONLY_BROKER)
    assert (made.is_broker, made.is_controller) == (True, False)
    assert made.controller_listeners == ()
    assert made.warnings == ()


def test_a_controller_needs_no_broker_listener() -> None:
    made = BrokerConfig.from_properties(ONLY_CONTROLLER)
    assert (made.is_broker, made.is_controller) == (False, True)
    assert made.controller_endpoints == (Listener("CONTROLLER", "host", 9193, "PLAINTEXT"),)
    assert made.advertised == ()


def test_a_controller_that_advertises_nothing_is_reached_where_it_listens() -> None:
    made = BrokerConfig.from_properties(BOTH)
    assert made.controller_endpoints == (Listener("CONTROLLER", "h", 9093, "PLAINTEXT"),)


@pytest.mark.parametrize(
    ("base", "name", "value", "problem"),
    [
        (BOTH, "controller.quorum.voters", "2@h:1,3@h:2", "must contain node 1"),
        (ONLY_BROKER, "controller.quorum.voters", "2@h:1", "must not contain node 2"),
        (
            ONLY_BROKER,
            "listeners",
            "PLAINTEXT://localhost:9092,CONTROLLER://:9093",
            "does not listen for controllers",
        ),
        (ONLY_BROKER, "controller.quorum.auto.join.enable", "true", "with the controller role"),
        (
            ONLY_CONTROLLER,
            "listeners",
            "CONTROLLER://:9093,PLAINTEXT://:9092",
            "has only the listeners in controller.listener.names",
        ),
        (ONLY_CONTROLLER, "advertised.listeners", "CONTROLLER://0.0.0.0:1", "0.0.0.0"),
        (BOTH, "replica.fetch.wait.max.ms", "40000", "replica.socket.timeout.ms"),
    ],
)
def test_roles_that_contradict_other_settings_are_refused(
    base: dict[str, str], name: str, value: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig.from_properties({**base, name: value})
    assert caught.value.name == name
    assert problem in str(caught.value)
