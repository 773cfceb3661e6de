"""Three brokers replicate a topic: who dies takes nothing along, and catches up when it returns."""

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from moldau.record.header import iter_headers
from tests.simulator.replicating import TOPIC, replicating

FIRST = TopicPartition(TOPIC, 0)


def test_all_replicas_have_the_same_bytes() -> None:
    with replicating(seed=1) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(200)
        cluster.end_work()


def test_a_log_that_ends_before_what_was_acknowledged_is_noticed() -> None:
    """No other record is at that offset: nothing else contradicts the acknowledgement."""
    with replicating(seed=11) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(10)
        cluster.history.will_send(FIRST, b"nobody/0/0")
        cluster.history.was_acknowledged(FIRST, b"nobody/0/0", 1_000_000)
        cluster.end_work()
        (surprise,) = cluster.world.surprises
        assert surprise.endswith("and what was before 1000001 is lost")
        cluster.world.surprises.clear()


def test_writes_go_on_without_the_leader_and_it_catches_up_later() -> None:
    with replicating(seed=2) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        for _ in range(3):
            leader = cluster.leader_of(FIRST)
            leader.kill()
            cluster.until_acknowledged(50)
            leader.start()
            cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_writes_go_on_without_a_follower_and_it_catches_up_later() -> None:
    with replicating(seed=3) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        for follower in cluster.followers_of(FIRST):
            follower.kill()
            cluster.until_acknowledged(200)
            follower.start()
            cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_a_rolling_restart_is_hardly_noticed() -> None:
    with replicating(seed=4) as cluster:
        cluster.begin_work()
        for machine in cluster.cluster.machines:
            cluster.until_acknowledged(50)
            machine.stop()
            cluster.until(lambda machine=machine: machine.process is None)
            machine.start()
            cluster.until(lambda: cluster.are_nodes_ready() and cluster.is_fully_replicated())
        cluster.end_work()


def test_a_leader_that_loses_its_power_truncates_what_only_it_has() -> None:
    with replicating(seed=5) as cluster:
        cluster.begin_work()
        for _ in range(3):
            cluster.until_acknowledged(50)
            leader = cluster.leader_of(FIRST)
            leader.cut_power()
            cluster.until_acknowledged(50)
            leader.return_power()
            leader.start()
            cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_a_leader_that_was_cut_off_truncates_what_it_wrote_alone() -> None:
    with replicating(seed=6) as cluster:
        cluster.begin_work()
        for _ in range(3):
            cluster.until_acknowledged(50)
            former = cluster.leader_of(FIRST)
            cluster.isolate(former)
            # Clients still write to it, until the others have elected another leader.
            cluster.until(lambda former=former: cluster.leader_of(FIRST) is not former)
            cluster.until_acknowledged(50)
            cluster.rejoin(former)
            cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_a_leader_that_hung_follows_when_it_wakes() -> None:
    with replicating(seed=7) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        former = cluster.leader_of(FIRST)
        former.pause()
        cluster.until_acknowledged(50)
        former.resume()
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_all_brokers_can_be_killed_one_after_the_other() -> None:
    with replicating(seed=8) as cluster:
        cluster.begin_work()
        for _ in range(2):
            for machine in cluster.cluster.machines:
                cluster.until_acknowledged(30)
                machine.kill()
                cluster.run_for(1)
                machine.start()
        cluster.end_work()


def test_a_replica_that_is_moved_away_deletes_its_log_and_one_that_comes_back_gets_all_of_it() -> (
    None
):
    with replicating(seed=9) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        for replicas in ([1, 2], [2, 3], [3, 1], [1, 2, 3]):
            cluster.wanted = sorted(replicas)
            topic = ReassignableTopic(
                TOPIC,
                [ReassignablePartition(each.partition, replicas) for each in cluster.partitions],
            )
            response = cluster.ask(
                AlterPartitionReassignmentsRequest(topics=[topic]),
                AlterPartitionReassignmentsResponse,
            )
            assert response.error_code == ErrorCode.NONE
            cluster.until(cluster.is_fully_replicated)
            cluster.run_for(1)
            for machine in cluster.cluster.machines:
                is_replica = machine.config.node_id in replicas
                assert machine.disk.exists("/data/t-0") == is_replica, machine.name
            cluster.until_acknowledged(50)
        cluster.end_work()


def test_a_new_replica_follows_a_log_that_starts_within_a_batch() -> None:
    """Batches are replicated as a whole, but DeleteRecords takes any offset."""
    with replicating(seed=12) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        cluster.end_work()
        leader = cluster.leader_of(FIRST)
        (log, *_) = [each.log for each in cluster.replicas(FIRST) if each.is_leader]
        batches = log.read(0, 1 << 20, max_offset=log.log_end_offset).records
        assert isinstance(batches, bytes)
        large = next(each for _, each in iter_headers(batches) if each.last_offset_delta > 0)
        deletion = DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, large.last_offset)])
        request = DeleteRecordsRequest(topics=[deletion], timeout_ms=5_000)
        deleted = cluster.ask(request, DeleteRecordsResponse, of=leader)
        assert deleted.topics[0].partitions[0].low_watermark == large.last_offset
        first, other, _ = leader_first = [
            leader.config.node_id,
            *(each.config.node_id for each in cluster.followers_of(FIRST)),
        ]
        for replicas in ([first, other], leader_first):
            wanted = [
                ReassignablePartition(each.partition, replicas) for each in cluster.partitions
            ]
            cluster.wanted = sorted(replicas)
            cluster.ask(
                AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, wanted)]),
                AlterPartitionReassignmentsResponse,
            )
            cluster.until(cluster.is_fully_replicated)
        starts = [each.log.log_start_offset for each in cluster.replicas(FIRST)]
        assert starts == [large.last_offset] * 3


def test_a_topic_that_was_recreated_while_a_broker_was_down_has_no_old_records() -> None:
    with replicating(seed=10) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        cluster.end_work()
        old = [each.log.log_end_offset for each in cluster.replicas(FIRST)]
        assert min(old) > 0
        absent = cluster.followers_of(FIRST)[0]
        absent.kill()
        deleted = cluster.ask(
            DeleteTopicsRequest([DeleteTopicState(TOPIC)], timeout_ms=5_000), DeleteTopicsResponse
        )
        assert deleted.responses[0].error_code == ErrorCode.NONE
        # Two brokers cannot hold three replicas, but one that is down counts until it is fenced.
        cluster.create_topic()
        absent.start()
        cluster.until(cluster.is_fully_replicated)
        for topic_partition in cluster.partitions:
            ends = [each.log.log_end_offset for each in cluster.replicas(topic_partition)]
            assert ends == [0, 0, 0]
