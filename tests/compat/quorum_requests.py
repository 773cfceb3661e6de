"""What nodes of a quorum may ask a controller, right and wrong, as requests ready to send.

The node that is asked is voter 1 of ``CLUSTER_ID``; voters 2 and 3 exist only in requests.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from moldau.ids import METADATA_TOPIC, METADATA_TOPIC_ID, uuid_to_str
from moldau.protocol.api import APIS
from moldau.protocol.message import Message
from moldau.protocol.messages import add_raft_voter as add
from moldau.protocol.messages import allocate_producer_ids as producer_ids
from moldau.protocol.messages import alter_partition as isr
from moldau.protocol.messages import assign_replicas_to_dirs as dirs
from moldau.protocol.messages import begin_quorum_epoch as begin
from moldau.protocol.messages import broker_heartbeat as heartbeat
from moldau.protocol.messages import broker_registration as registration
from moldau.protocol.messages import controller_registration as controllers
from moldau.protocol.messages import create_topics as topics
from moldau.protocol.messages import describe_quorum as describe
from moldau.protocol.messages import end_quorum_epoch as end
from moldau.protocol.messages import fetch, fetch_snapshot, vote
from moldau.protocol.messages import remove_raft_voter as remove
from moldau.protocol.messages import unregister_broker as unregister
from moldau.protocol.messages import update_features as features
from moldau.protocol.messages import update_raft_voter as update

CLUSTER_ID = uuid_to_str(b"cluster of tests")
OTHER_CLUSTER_ID = uuid_to_str(b"another cluster.")
DIRECTORY_IDS = {node_id: bytes([node_id]) * 16 for node_id in (1, 2, 3)}
OTHER_DIRECTORY_ID = b"d" * 16
# A port at which nobody listens.
NOWHERE = ("CONTROLLER", "127.0.0.1", 9)


class Question(NamedTuple):
    name: str
    request: Message
    first_version: int | None = None

    @property
    def versions(self) -> range:
        api = APIS[self.request.API_KEY]
        first = api.min_version if self.first_version is None else self.first_version
        return range(first, api.max_version + 1)


def vote_request(**fields: Any) -> vote.VoteRequest:
    """A vote for node 2; ``fields`` are of the request, its topic and its partition."""
    partition = vote.PartitionData(
        replica_epoch=fields.pop("epoch", 1),
        replica_id=fields.pop("candidate", 2),
        replica_directory_id=fields.pop("candidate_directory", DIRECTORY_IDS[2]),
        voter_directory_id=fields.pop("voter_directory", DIRECTORY_IDS[1]),
        last_offset_epoch=fields.pop("last_epoch", 1),
        last_offset=fields.pop("last_offset", 1_000_000),
        pre_vote=fields.pop("pre_vote", False),
        partition_index=fields.pop("partition", 0),
    )
    topic = vote.TopicData(fields.pop("topic", METADATA_TOPIC), [partition])
    return vote.VoteRequest(
        **{"cluster_id": CLUSTER_ID, "voter_id": 1, "topics": [topic], **fields}
    )


def begin_request(**fields: Any) -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(
        partition_index=fields.pop("partition", 0),
        voter_directory_id=fields.pop("voter_directory", DIRECTORY_IDS[1]),
        leader_id=fields.pop("leader", 2),
        leader_epoch=fields.pop("epoch", 1),
    )
    topic = begin.TopicData(fields.pop("topic", METADATA_TOPIC), [partition])
    return begin.BeginQuorumEpochRequest(
        **{
            "cluster_id": CLUSTER_ID,
            "voter_id": 1,
            "topics": [topic],
            "leader_endpoints": [begin.LeaderEndpoint(*NOWHERE)],
            **fields,
        }
    )


def end_request(**fields: Any) -> end.EndQuorumEpochRequest:
    partition = end.PartitionData(
        partition_index=fields.pop("partition", 0),
        leader_id=fields.pop("leader", 2),
        leader_epoch=fields.pop("epoch", 1),
        preferred_successors=[3],
        preferred_candidates=[end.ReplicaInfo(3, DIRECTORY_IDS[3])],
    )
    topic = end.TopicData(fields.pop("topic", METADATA_TOPIC), [partition])
    return end.EndQuorumEpochRequest(**{"cluster_id": CLUSTER_ID, "topics": [topic], **fields})


def fetch_request(**fields: Any) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=fields.pop("partition", 0),
        current_leader_epoch=fields.pop("epoch", 1),
        fetch_offset=fields.pop("offset", 0),
        last_fetched_epoch=fields.pop("last_epoch", 0),
        replica_directory_id=fields.pop("directory", DIRECTORY_IDS[2]),
    )
    topic = fetch.FetchTopic(METADATA_TOPIC, fields.pop("topic_id", METADATA_TOPIC_ID), [partition])
    return fetch.FetchRequest(
        **{
            "cluster_id": CLUSTER_ID,
            "replica_state": fetch.ReplicaState(fields.pop("replica", 2)),
            "max_bytes": 1 << 20,
            "topics": [topic],
            **fields,
        }
    )


def snapshot_request(**fields: Any) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.PartitionSnapshot(
        fields.pop("partition", 0),
        fields.pop("epoch", 1),
        fetch_snapshot.SnapshotId(*fields.pop("snapshot_id", (0, 0))),
        fields.pop("position", 0),
        fields.pop("directory", DIRECTORY_IDS[2]),
    )
    topic = fetch_snapshot.TopicSnapshot(fields.pop("topic", METADATA_TOPIC), [partition])
    return fetch_snapshot.FetchSnapshotRequest(
        **{"cluster_id": CLUSTER_ID, "replica_id": 2, "topics": [topic], **fields}
    )


def describe_request(topic: str = METADATA_TOPIC, partition: int = 0) -> Message:
    partitions = [describe.PartitionData(partition)]
    return describe.DescribeQuorumRequest([describe.TopicData(topic, partitions)])


_MISNAMED: dict[str, dict[str, Any]] = {
    "another cluster": {"cluster_id": OTHER_CLUSTER_ID},
    "an empty cluster id": {"cluster_id": ""},
    "another topic": {"topic": "river"},
    "another partition": {"partition": 1},
    "no topic": {"topics": []},
}


def elections(epoch: int) -> Iterator[Question]:
    """Questions about leadership, at a node in ``epoch``; none of them changes its epoch."""
    for name, wrong in _MISNAMED.items():
        yield Question(f"vote: {name}", vote_request(**wrong))
        yield Question(f"begin: {name}", begin_request(**wrong))
        yield Question(f"end: {name}", end_request(**wrong))
    votes: dict[str, dict[str, Any]] = {
        "this epoch": {},
        "no cluster id": {"cluster_id": None},
        "an old epoch": {"epoch": epoch - 1},
        "a negative epoch": {"epoch": -1},
        "for another voter": {"voter_id": 3},
        "for no voter": {"voter_id": -1},
        "another directory of the voter": {"voter_directory": OTHER_DIRECTORY_ID},
        "a candidate that is no voter": {"candidate": 9},
        "another directory of the candidate": {"candidate_directory": OTHER_DIRECTORY_ID},
        "a negative candidate": {"candidate": -1},
        "a negative offset": {"last_offset": -1},
        "a negative last epoch": {"last_epoch": -1},
        "a last epoch that is not before": {"last_epoch": epoch},
        "a short log": {"last_epoch": 0, "last_offset": 0},
    }
    for name, fields in votes.items():
        fields = {"epoch": epoch, "last_epoch": max(epoch - 1, 0), **fields}
        yield Question(f"vote: {name}", vote_request(**fields))
        yield Question(f"pre-vote: {name}", vote_request(pre_vote=True, **fields), 2)
    for name, fields in {
        "an old epoch": {"epoch": epoch - 1},
        "a negative epoch": {"epoch": -1},
        "an old epoch of no voter": {"epoch": epoch - 1, "leader": 9},
    }.items():
        # A second leader in an epoch would be the end of both processes.
        yield Question(f"begin: {name}", begin_request(**{"epoch": epoch, **fields}))
        yield Question(f"end: {name}", end_request(**{"epoch": epoch, **fields}))
    wrong_voter = begin_request(epoch=epoch - 1, voter_id=3)
    yield Question("begin: for another voter", wrong_voter)
    wrong_place = begin_request(epoch=epoch - 1, voter_directory=OTHER_DIRECTORY_ID)
    yield Question("begin: another directory of the voter", wrong_place)


def reading(epoch: int) -> Iterator[Question]:
    """Fetches of the log and of snapshots, which are refused or have nothing to wait for."""
    for name, fields in {
        "another cluster": {"cluster_id": OTHER_CLUSTER_ID},
        "another topic": {"topic_id": b"t" * 16},
        "another partition": {"partition": 1},
        "no topic": {"topics": []},
        "an old epoch": {"epoch": epoch - 1},
        "an epoch ahead": {"epoch": epoch + 1},
        "no epoch": {"epoch": -1},
        "a negative offset": {"offset": -1},
        "a negative last epoch": {"last_epoch": -1},
        "an offset after the end": {"offset": 1_000_000, "last_epoch": epoch},
        "a last epoch ahead": {"offset": 3, "last_epoch": epoch + 1},
        "a negative time": {"max_wait_ms": -1},
    }.items():
        asked = fetch_request(**{"epoch": epoch, **fields})
        yield Question(f"fetch: {name}", asked, 17)
    # Without a topic, this request ends the process of Apache Kafka.
    for name, fields in {
        **{name: wrong for name, wrong in _MISNAMED.items() if name != "no topic"},
        "an old epoch": {"epoch": epoch - 1},
        "an epoch ahead": {"epoch": epoch + 1},
        "no epoch": {"epoch": -1},
        "an unknown snapshot": {"snapshot_id": (12345, 1)},
        "a negative position": {"position": -1},
        "a position after the end": {"position": 1 << 30},
    }.items():
        asked_snapshot = snapshot_request(**{"epoch": epoch, **fields})
        yield Question(f"snapshot: {name}", asked_snapshot)
    yield Question("describe", describe_request())
    yield Question("describe: another topic", describe_request("river"))
    yield Question("describe: another partition", describe_request(partition=3))


def voter_changes(epoch: int) -> Iterator[Question]:
    """Changes of the voters that are refused."""
    place = [add.Listener(*NOWHERE)]
    known = DIRECTORY_IDS[1]
    for name, fields in {
        "another cluster": {"cluster_id": OTHER_CLUSTER_ID},
        "a voter that is there": {"voter_id": 1, "voter_directory_id": known},
        "another directory of a voter": {"voter_id": 1},
        "no address": {"listeners": []},
        "another listener": {"listeners": [add.Listener("OTHER", "127.0.0.1", 9)]},
        "a negative id": {"voter_id": -1},
        "no directory": {"voter_directory_id": bytes(16)},
    }.items():
        wanted = {
            "cluster_id": CLUSTER_ID,
            "timeout_ms": 1000,
            "voter_id": 9,
            "voter_directory_id": OTHER_DIRECTORY_ID,
            "listeners": place,
            **fields,
        }
        yield Question(f"add voter: {name}", add.AddRaftVoterRequest(**wanted))
    for name, fields in {
        "another cluster": {"cluster_id": OTHER_CLUSTER_ID},
        "an unknown voter": {},
        "another directory of a voter": {"voter_id": 1},
        "no directory": {"voter_id": 1, "voter_directory_id": bytes(16)},
        "a negative id": {"voter_id": -1},
    }.items():
        wanted = {
            "cluster_id": CLUSTER_ID,
            "voter_id": 9,
            "voter_directory_id": OTHER_DIRECTORY_ID,
            **fields,
        }
        yield Question(f"remove voter: {name}", remove.RemoveRaftVoterRequest(**wanted))
    versions = update.KRaftVersionFeature(0, 1)
    for name, fields in {
        "another cluster": {"cluster_id": OTHER_CLUSTER_ID},
        "an old epoch": {"current_leader_epoch": epoch - 1},
        "an epoch ahead": {"current_leader_epoch": epoch + 1},
        "an unknown voter": {},
        "another directory of a voter": {"voter_id": 1},
        "no address": {"voter_id": 1, "voter_directory_id": known, "listeners": []},
        "versions that do not fit": {"kraft_version_feature": update.KRaftVersionFeature(2, 3)},
        "a negative id": {"voter_id": -1},
    }.items():
        wanted = {
            "cluster_id": CLUSTER_ID,
            "current_leader_epoch": epoch,
            "voter_id": 9,
            "voter_directory_id": OTHER_DIRECTORY_ID,
            "listeners": [update.Listener(*NOWHERE)],
            "kraft_version_feature": versions,
            **fields,
        }
        yield Question(f"update voter: {name}", update.UpdateRaftVoterRequest(**wanted))


def decisions() -> Iterator[Question]:
    """Requests for the active controller that it refuses, or that are for another node."""
    yield Question(
        "register: another cluster",
        registration.BrokerRegistrationRequest(
            broker_id=7, cluster_id=OTHER_CLUSTER_ID, incarnation_id=b"i" * 16
        ),
    )
    yield Question("heartbeat: unknown", heartbeat.BrokerHeartbeatRequest(broker_id=7))
    yield Question("unregister: unknown", unregister.UnregisterBrokerRequest(7))
    yield Question("producer ids: unknown", producer_ids.AllocateProducerIdsRequest(7, 1))
    yield Question("isr: nothing", isr.AlterPartitionRequest(broker_id=7, broker_epoch=1))
    unknown_topic = isr.TopicData(topic_id=b"t" * 16, partitions=[isr.PartitionData()])
    wanted = isr.AlterPartitionRequest(broker_id=7, broker_epoch=1, topics=[unknown_topic])
    yield Question("isr: unknown", wanted)
    yield Question(
        "directories: unknown", dirs.AssignReplicasToDirsRequest(broker_id=7, broker_epoch=1)
    )
    yield Question(
        "controller: without features",
        controllers.ControllerRegistrationRequest(controller_id=1, incarnation_id=b"i" * 16),
    )
    yield Question(
        "controller: negative", controllers.ControllerRegistrationRequest(controller_id=-2)
    )
    for key in (20, 33, 37, 43, 44, 45, 46, 51):
        api = APIS[key]
        nothing = api.request_class()()
        if key in (43, 46):
            setattr(nothing, "topic_partitions" if key == 43 else "topics", [])
        yield Question(f"nothing: {api.name}", nothing)
    wrong_name = topics.CreatableTopic(name="not a name", num_partitions=1, replication_factor=1)
    yield Question("topics: wrong name", topics.CreateTopicsRequest(topics=[wrong_name]))
    unknown = features.FeatureUpdateKey(feature="unknown.feature", max_version_level=1)
    yield Question(
        "features: unknown", features.UpdateFeaturesRequest(feature_updates=[unknown]), 1
    )
