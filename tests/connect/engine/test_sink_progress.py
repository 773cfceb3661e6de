"""A sink's offsets in its group, on a real broker."""

import threading
import time

import pytest

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster
from moldau.connect.engine.failures import Stopping
from moldau.connect.engine.sink_progress import SinkProgress
from moldau.ids import TopicPartition
from tests.running import RunningBroker

LATER_S = 3600.0


@pytest.fixture
def partition(broker: RunningBroker, request: pytest.FixtureRequest) -> TopicPartition:
    topic = request.node.name[:100]
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 2)
    return TopicPartition(topic, 0)


def test_offsets_are_committed_again_before_they_expire(
    broker: RunningBroker, partition: TopicPartition
) -> None:
    stopping = threading.Event()
    with Cluster(broker.bootstrap) as cluster, Admin(broker.bootstrap) as admin:
        group = f"connect-{partition.topic}"
        progress = SinkProgress(cluster, group, stopping)
        progress.commit({partition: 7})
        admin.groups.delete_offsets(group, [partition])
        progress.renew(time.monotonic())
        assert progress.read() == {}, "it is not time yet"
        progress.renew(time.monotonic() + LATER_S)
        assert progress.read() == {partition: 7}
        admin.groups.delete_offsets(group, [partition])
        stopping.set()
        progress.renew(time.monotonic() + 2 * LATER_S)
        assert progress.read() == {}, "another worker may be running the connector"


def test_a_batch_that_ends_after_the_connector_was_stopped_commits_nothing(
    broker: RunningBroker, partition: TopicPartition
) -> None:
    """The user may have reset the offsets since, or another worker run the connector."""
    stopping = threading.Event()
    with Cluster(broker.bootstrap) as cluster:
        progress = SinkProgress(cluster, f"connect-{partition.topic}", stopping)
        progress.commit({partition: 7})
        stopping.set()
        with pytest.raises(Stopping):
            progress.commit({partition: 9})
        assert progress.read() == {partition: 7}


def test_a_new_partition_is_announced_once(
    broker: RunningBroker, partition: TopicPartition
) -> None:
    other = TopicPartition(partition.topic, 1)
    with Cluster(broker.bootstrap) as cluster:
        progress = SinkProgress(cluster, f"connect-{partition.topic}", threading.Event())
        progress.begin({partition: 3})
        progress.announce([partition, other])
        assert progress.read() == {other: 0}
        progress.commit({other: 5})
        progress.announce([partition, other])
        assert progress.read() == {other: 5}
