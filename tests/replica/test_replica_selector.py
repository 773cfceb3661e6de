"""Which replica a consumer should read from."""

from moldau.replica.replica_selector import ReplicaView, select_by_rack


def view(broker_id: int, rack: str | None, end: int = 10, lag_ms: int = 0) -> ReplicaView:
    return ReplicaView(broker_id, rack, end, lag_ms)


def test_a_consumer_without_a_rack_reads_from_the_leader() -> None:
    assert select_by_rack("", None, [view(2, ""), view(3, None)]) is None


def test_a_consumer_reads_from_the_follower_in_its_rack() -> None:
    assert select_by_rack("b", "a", [view(2, "a"), view(3, "b")]) == 3


def test_the_leader_is_preferred_in_its_own_rack() -> None:
    assert select_by_rack("a", "a", [view(2, "a", end=99)]) is None


def test_without_a_replica_in_the_rack_the_leader_serves() -> None:
    assert select_by_rack("c", "a", [view(2, "a"), view(3, "b")]) is None


def test_the_follower_that_lags_least_is_chosen() -> None:
    longer = [view(2, "b", end=11), view(3, "b", end=10)]
    assert select_by_rack("b", "a", longer) == 2
    sooner = [view(2, "b", lag_ms=5), view(3, "b", lag_ms=9)]
    assert select_by_rack("b", "a", sooner) == 2
    assert select_by_rack("b", "a", [view(3, "b"), view(2, "b")]) == 3, "as in Kafka"
