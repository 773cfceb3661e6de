"""Blocks of producer ids are never given twice, whoever asks and whoever decides."""

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.records.metadata import ProducerIdsRecord
from tests.controller.cluster import Cluster


def allocate(cluster: Cluster, broker_id: int = 1) -> range:
    request = AllocateProducerIdsRequest(
        broker_id=broker_id, broker_epoch=cluster.image.brokers[broker_id].epoch
    )
    response = cluster.decide(request)
    first: int = response.producer_id_start
    return range(first, first + response.producer_id_len)


def test_no_two_brokers_get_the_same_ids_even_after_a_failover() -> None:
    cluster = Cluster(2)
    given: list[int] = []
    for turn in range(6):
        if turn == 3:
            image = cluster.image
            cluster.controller.resigned()
            cluster.controller.activated(0, image)
        given += allocate(cluster, turn % 2 + 1)
    assert len(given) == len(set(given)) == 6000


def test_ids_run_out_before_they_repeat() -> None:
    cluster = Cluster(1)
    last = (1 << 63) - 1
    cluster.commit([ProducerIdsRecord(next_producer_id=last - 1000)])
    assert allocate(cluster)[-1] == last - 1
    with pytest.raises(ApiError, match="no producer ids are left") as caught:
        allocate(cluster)
    assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_only_registered_incarnations_get_ids() -> None:
    cluster = Cluster(1)
    for broker_id, epoch in ((1, 0), (9, 0)):
        with pytest.raises(ApiError) as caught:
            cluster.decide(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
        assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH
