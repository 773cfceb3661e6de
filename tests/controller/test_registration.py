"""BrokerRegistration and ControllerRegistration, by version and by metadata.version."""

import pytest

from moldau.controller.context import DecisionContext
from moldau.controller.outcome import decided
from moldau.controller.registration import MAX_LISTED
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import MIGRATING_DIRECTORY
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.records.metadata import (
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from tests.controller.cluster import Cluster, registration
from tests.controller.test_alter_partition import alter, partition, placed, wanted_isr


def register(
    cluster: Cluster,
    request: BrokerRegistrationRequest,
    version: int = 4,
    kraft_version: int = 1,
    has_predecessor_left: bool = False,
) -> int:
    context = DecisionContext(
        next_offset=cluster.offset,
        kraft_version=kraft_version,
        has_predecessor_left=has_predecessor_left,
    )
    steps = cluster.controller.decide(request, version, context, cluster.now_ms)
    outcome = decided(steps)
    cluster.commit(outcome.records)
    epoch: int = outcome.response.broker_epoch
    return epoch


def refused(cluster: Cluster, request: BrokerRegistrationRequest, **arguments: int) -> str:
    with pytest.raises(ApiError) as caught:
        register(cluster, request, **arguments)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
    return caught.value.message or ""


def test_the_same_incarnation_keeps_its_epoch() -> None:
    """KAFKA-16952: the first response may have been lost."""
    cluster = Cluster(1)
    request = registration(2)
    epoch = register(cluster, request)
    request.listeners = [Listener(name="PLAINTEXT", host="other", port=9092)]
    assert register(cluster, request) == epoch
    broker = cluster.image.brokers[2]
    assert (broker.epoch, broker.endpoints[0].host) == (epoch, "other")
    cluster.heartbeat(2)
    assert register(cluster, request) == epoch
    assert not cluster.image.brokers[2].fenced


def test_another_incarnation_gets_another_epoch_and_begins_fenced() -> None:
    cluster = Cluster(2)
    first = cluster.image.brokers[2].epoch
    cluster.now_ms = 10_000
    assert register(cluster, registration(2, incarnation=7)) > first
    assert cluster.image.brokers[2].fenced


def at_address(request: BrokerRegistrationRequest, port: int) -> BrokerRegistrationRequest:
    request.listeners = [Listener(name="PLAINTEXT", host="river", port=port)]
    return request


def test_a_broker_that_takes_the_place_of_a_dead_one_registers_at_once() -> None:
    cluster = Cluster(1)
    register(cluster, at_address(registration(2), 9092))
    cluster.heartbeat(2)
    cluster.must_create("river", 1, 2)
    first = cluster.image.brokers[2].epoch
    successor = at_address(registration(2, incarnation=7), 9092)
    assert register(cluster, successor, has_predecessor_left=True) > first
    assert cluster.image.brokers[2].fenced
    assert partition(cluster).isr == (1,)


def test_a_second_broker_with_the_same_id_cannot_pass_for_a_successor() -> None:
    cluster = Cluster(1)
    register(cluster, at_address(registration(2), 9092))
    cluster.heartbeat(2)

    def refusal(request: BrokerRegistrationRequest, has_left: bool) -> ErrorCode:
        with pytest.raises(ApiError) as caught:
            register(cluster, request, has_predecessor_left=has_left)
        return caught.value.code

    same = at_address(registration(2, incarnation=7), 9092)
    assert refusal(same, False) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    elsewhere = at_address(registration(2, incarnation=7), 9999)
    assert refusal(elsewhere, True) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    other_disk = at_address(registration(2, incarnation=7), 9092)
    other_disk.log_dirs = [bytes([200]) * 16]
    assert refusal(other_disk, True) == ErrorCode.DUPLICATE_BROKER_REGISTRATION


@pytest.mark.parametrize(("version", "elr"), [(2, ()), (3, (2,))])
def test_a_clean_shutdown_is_known_from_version_3_on(version: int, elr: tuple[int, ...]) -> None:
    cluster = placed([1, 2], brokers=2, min_isr="2")
    epoch = cluster.image.brokers[2].epoch
    for _ in range(2):
        cluster.heartbeat(2, shut_down=True)
    assert partition(cluster).elr == (2,)
    register(cluster, registration(2, incarnation=7, previous_epoch=epoch), version)
    assert partition(cluster).elr == elr


def test_an_unclean_shutdown_costs_the_place_in_isr_and_elr() -> None:
    """KIP-966: what was not flushed may be lost."""
    cluster = placed([1, 2, 3], brokers=3, min_isr="3")
    alter(cluster, wanted_isr(cluster, [1, 2]))
    assert (partition(cluster).isr, partition(cluster).elr) == ((1, 2), (3,))
    cluster.now_ms = 10_000
    register(cluster, registration(2, incarnation=7))
    assert (partition(cluster).isr, partition(cluster).elr) == ((1,), (3,))
    register(cluster, registration(3, incarnation=7, previous_epoch=5))
    assert (partition(cluster).isr, partition(cluster).elr) == ((1,), ())


def test_a_broker_that_was_unregistered_returns_without_its_eligibility() -> None:
    cluster = placed([1, 2], brokers=2, min_isr="2")
    cluster.heartbeat(2, fence=True)
    assert partition(cluster).elr == (2,)
    cluster.decide(UnregisterBrokerRequest(broker_id=2))
    assert partition(cluster).elr == (2,)
    register(cluster, registration(2, incarnation=7))
    assert partition(cluster).elr == ()


def test_an_unregistered_broker_leaves_every_isr_first() -> None:
    cluster = placed([1, 2, 3])
    end = cluster.offset
    cluster.decide(UnregisterBrokerRequest(broker_id=1))
    assert cluster.offset == end + 2
    assert (partition(cluster).isr, partition(cluster).leader) == ((2, 3), 2)


def test_a_broker_supports_every_finalised_level() -> None:
    cluster = Cluster(1)
    request = registration(2)
    for feature in request.features:
        if feature.name == "transaction.version":
            feature.max_supported_version = 1
    assert refused(cluster, request) == (
        "Unable to register because the broker does not support finalized version 2 of "
        "transaction.version. The broker wants a version between 0 and 1, inclusive."
    )


def test_a_broker_supports_the_version_of_the_quorum() -> None:
    cluster = Cluster(1)
    request = registration(2)
    request.features = [each for each in request.features if each.name != "kraft.version"]
    assert "finalized version 1 of kraft.version" in refused(cluster, request)
    register(cluster, request, kraft_version=0)


def test_features_that_the_cluster_does_not_use_must_be_able_to_be_off() -> None:
    cluster = Cluster(1)
    request = registration(2)
    request.features.append(
        Feature(name="new.version", min_supported_version=1, max_supported_version=3)
    )
    assert "finalized version 0 of new.version" in refused(cluster, request)


def test_a_broker_without_a_metadata_version_is_refused() -> None:
    cluster = Cluster(1)
    request = registration(2)
    request.features = [each for each in request.features if each.name != "metadata.version"]
    with pytest.raises(ApiError, match=r"do not contain 'metadata\.version'") as caught:
        register(cluster, request)
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION


def test_brokers_of_a_zookeeper_cluster_are_refused() -> None:
    request = registration(2)
    request.is_migrating_zk_broker = True
    with pytest.raises(ApiError, match="does not support registering ZK brokers") as caught:
        register(Cluster(1), request)
    assert caught.value.code == ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize(("level", "has_directories"), [(16, False), (17, True)])
def test_directories_are_recorded_from_3_7_on(level: int, has_directories: bool) -> None:
    cluster = Cluster(1, level=level)
    register(cluster, registration(2))
    assert bool(cluster.image.brokers[2].log_dirs) == has_directories
    assert bool(cluster.image.brokers[1].log_dirs) == has_directories
    cluster.must_create("river")
    [directory] = cluster.image.topics_by_name["river"].partitions[0].directories
    assert (directory != MIGRATING_DIRECTORY) == has_directories


def test_the_registration_is_the_last_record() -> None:
    """A controller that fails before it leaves nothing that cannot be repeated."""
    cluster = placed([1, 2, 3])
    cluster.now_ms = 10_000
    *changes, last = cluster.register(2, incarnation=7)
    assert isinstance(last, RegisterBrokerRecord)
    assert [type(each) for each in changes] == [PartitionChangeRecord]


def test_controllers_register_from_3_7_on() -> None:
    request = ControllerRegistrationRequest(controller_id=5, incarnation_id=b"c" * 16)
    cluster = Cluster(1, level=15)
    cluster.decide(request)
    assert cluster.image.controllers[5].incarnation_id == b"c" * 16
    old = Cluster(1, level=14)
    with pytest.raises(ApiError, match="too old to support controller registrations") as caught:
        old.decide(request)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("field", ["log_dirs", "listeners", "features"])
def test_a_broker_that_lists_more_than_any_broker_has_is_refused(field: str) -> None:
    """Every node would keep it, and look through it with every change of a replica."""
    cluster = Cluster()
    request = registration(7)
    more = {
        "log_dirs": [number.to_bytes(16, "big") for number in range(1000, 1001 + MAX_LISTED)],
        "listeners": [Listener(name=f"L{number}") for number in range(1 + MAX_LISTED)],
        "features": [Feature(name=f"f{number}") for number in range(1 + MAX_LISTED)],
    }
    getattr(request, field).extend(more[field])
    with pytest.raises(ApiError) as caught:
        register(cluster, request)
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION
    assert f"at most {MAX_LISTED}" in (caught.value.message or "")
