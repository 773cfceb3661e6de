"""What ``moldau cluster health`` finds, from states that are made up here."""

from moldau.cli.cluster_health import ClusterState, HealthFinding, Severity, findings
from moldau.client.node_admin import QuorumDescription, QuorumReplica, RegisteredBroker
from moldau.client.partition_admin import PartitionState
from moldau.ids import NO_UUID, TopicPartition
from tests.cli.conftest import Moldau

NOW_MS = 1_000_000


def broker(node_id: int, *, is_fenced: bool = False) -> RegisteredBroker:
    return RegisteredBroker(node_id, "host", 9092, None, is_fenced)


BROKERS = [broker(1), broker(2), broker(3)]


def partition(
    number: int, leader: int, replicas: list[int], isr: list[int], elr: list[int] | None = None
) -> PartitionState:
    return PartitionState(TopicPartition("t", number), leader, 0, replicas, isr, elr or [], [], [])


def quorum(*caught_up_ms: int) -> QuorumDescription:
    voters = [
        QuorumReplica(1 + index, NO_UUID, 10, moment_ms, moment_ms)
        for index, moment_ms in enumerate(caught_up_ms)
    ]
    return QuorumDescription(1, 1, 10, voters, [], {})


def found(
    partitions: list[PartitionState],
    *,
    min_isr: int = 2,
    brokers: list[RegisteredBroker] = BROKERS,
    voters: QuorumDescription | None = None,
) -> list[HealthFinding]:
    state = ClusterState(partitions, {"t": min_isr}, brokers, voters or quorum(NOW_MS))
    return findings(state)


def kinds(found: list[HealthFinding]) -> list[tuple[str, Severity]]:
    return [(each.kind, each.severity) for each in found]


def test_nothing_is_found_where_all_replicas_are_in_sync() -> None:
    healthy = [partition(n, 1 + n, [1 + n, 1 + (n + 1) % 3], [1, 2]) for n in range(3)]
    assert found(healthy) == []


def test_replicas_out_of_sync_are_a_warning_until_nothing_can_be_written() -> None:
    down = [broker(1), broker(2, is_fenced=True), broker(3, is_fenced=True)]
    warning, _ = found([partition(0, 1, [1, 2, 3], [1, 2])], brokers=down)
    assert kinds([warning]) == [("under-replicated", Severity.WARNING)]
    assert warning.affected == ["t-0"]
    assert "start or repair broker 3;" in warning.remedy
    error, _ = found([partition(0, 1, [1, 2, 3], [1])], brokers=down)
    assert kinds([error]) == [("under-min-isr", Severity.ERROR)]
    assert "NOT_ENOUGH_REPLICAS" in error.problem
    assert "brokers 2, 3" in error.remedy


def test_a_broker_in_service_need_not_be_started() -> None:
    (warning,) = found([partition(0, 1, [1, 2, 3], [1, 2])])
    assert warning.remedy.startswith("wait for broker 3 (in service; ")
    mixed = [broker(1), broker(2), broker(3, is_fenced=True)]
    error, _ = found([partition(0, 1, [1, 2, 3], [1])], brokers=mixed)
    assert error.remedy.startswith("start or repair broker 3, wait for broker 2 (in service; ")


def test_a_minimum_above_the_number_of_replicas_needs_more_replicas() -> None:
    (error,) = found([partition(0, 1, [1], [1])])
    assert error.remedy.startswith("lower min.insync.replicas, or give them more replicas")


def test_an_offline_partition_says_who_can_lead_it_without_loss() -> None:
    (safe,) = found([partition(0, -1, [1, 2, 3], [], elr=[2])])
    assert safe.kind == "offline"
    assert "start broker 2: it can lead" in safe.remedy
    (unsafe,) = found([partition(0, -1, [1, 2, 3], [3])])
    assert "--unclean" in unsafe.remedy
    assert "(3)" in unsafe.remedy


def test_eligible_leader_replicas_are_named_so_that_their_data_is_kept() -> None:
    both = found([partition(0, 1, [1, 2, 3], [1], elr=[2])])
    assert kinds(both) == [
        ("under-min-isr", Severity.ERROR),
        ("eligible-leader-replicas", Severity.WARNING),
    ]
    assert "keep the data of broker 2," in both[1].remedy


def test_brokers_that_are_fenced_or_unregistered_are_found() -> None:
    fenced = found([], brokers=[broker(1), broker(2, is_fenced=True)])
    assert kinds(fenced) == [("fenced", Severity.WARNING)]
    assert fenced[0].affected == ["broker 2 (host:9092)"]
    unregistered = found([partition(0, 1, [1, 9], [1, 9])])
    assert kinds(unregistered) == [("unregistered", Severity.WARNING)]
    assert "unregistered brokers 9" in unregistered[0].problem


def test_skewed_leaders_and_replicas_are_notes() -> None:
    away = found([partition(0, 2, [1, 2], [1, 2]), partition(1, 2, [2, 3], [2, 3])])
    assert kinds(away) == [("leader-skew", Severity.NOTE)]
    crowded = found([partition(n, 1, [1], [1]) for n in range(3)], min_isr=1)
    assert kinds(crowded) == [("replica-skew", Severity.NOTE)]
    assert "--brokers 1,2,3" in crowded[0].remedy


def test_controllers_that_do_not_follow_are_found() -> None:
    (lagging,) = found([], voters=quorum(NOW_MS, NOW_MS - 500, NOW_MS - 60_000))
    assert lagging.affected == ["controller 3"]
    assert lagging.problem == (
        "1 of 3 controllers do not follow the metadata; 0 more may fail before nothing can be "
        "changed"
    )


def test_a_single_broker_is_healthy(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic)
    healthy = moldau("cluster", "health")
    assert healthy.code == 0
    assert healthy.out.startswith("Healthy: 1 broker, 1 controller, ")


def test_a_topic_that_wants_more_replicas_in_sync_than_it_has_is_an_error(
    moldau: Moldau, topic: str
) -> None:
    moldau("topics", "create", topic, "--config", "min.insync.replicas=2")
    sick = moldau("cluster", "health")
    assert sick.code == 1
    assert "error: 1 partition with fewer replicas in sync" in sick.out
    assert f"  {topic}-0\n" in sick.out
    listed = moldau("partitions", "list", "--under-min-isr")
    assert listed.out.splitlines()[1].split()[:2] == [topic, "0"]
    moldau("topics", "delete", topic)
