"""Throttled replicas wait while they use more than their share (KIP-73)."""

import pytest

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.replication_quota import FOLLOWER_RATE, LEADER_RATE, follower_quota, leader_quota
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.metadata.image import BROKER_RESOURCE, ConfigResource, MetadataImage


def configs(**resources: dict[str, str]) -> DynamicConfig:
    """The settings of brokers: ``cluster`` is the default of all, ``broker_1`` that of one."""
    found = DynamicConfig(BrokerConfig.from_properties({"node.id": "1"}))
    names = {"cluster": "", "broker_1": "1", "broker_2": "2"}
    found.follow(
        MetadataImage(
            configs={
                ConfigResource(BROKER_RESOURCE, names[name]): settings
                for name, settings in resources.items()
            }
        )
    )
    return found


@pytest.mark.parametrize(
    ("replicas", "throttled"),
    [("", []), ("*", [0, 1, 2]), ("0:1,1:2,2:1", [0, 2]), ("11:1,1:11", [])],
)
def test_a_topic_names_its_throttled_replicas(replicas: str, throttled: list[int]) -> None:
    names = tuple(filter(None, replicas.split(",")))
    config = LogConfig(leader_replication_throttled_replicas=names)
    leader, follower = (make(configs(), ManualClock()) for make in (leader_quota, follower_quota))
    assert [index for index in range(3) if leader.is_throttled(index, config)] == throttled
    assert not any(follower.is_throttled(index, config) for index in range(3))


def test_throttled_replicas_wait_while_the_rate_is_exceeded() -> None:
    clock = ManualClock()
    quota = leader_quota(configs(broker_1={LEADER_RATE: "1000"}), clock)
    quota.record(10_000)
    assert not quota.is_exceeded, "ten seconds of the window were idle"
    quota.record(500)
    assert quota.excess_ms == 500
    clock.advance(501)
    assert not quota.is_exceeded


def test_without_a_rate_nobody_waits() -> None:
    quota = follower_quota(configs(broker_2={FOLLOWER_RATE: "1"}), ManualClock())
    quota.record(1_000_000_000)
    assert not quota.is_exceeded


def test_the_setting_of_a_broker_goes_before_that_of_all() -> None:
    settings = configs(cluster={FOLLOWER_RATE: "1"}, broker_1={FOLLOWER_RATE: "1000000"})
    quota = follower_quota(settings, ManualClock())
    quota.record(1000)
    assert not quota.is_exceeded
    everybody = follower_quota(configs(cluster={FOLLOWER_RATE: "1"}), ManualClock())
    everybody.record(1000)
    assert everybody.is_exceeded
