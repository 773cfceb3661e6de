"""Random but possible histories of a cluster, as metadata records."""

from hypothesis import strategies as st

from moldau.metadata.features import METADATA_VERSION
from moldau.protocol.message import Message
from moldau.protocol.records import metadata as records

UUIDS = [bytes([number]) * 16 for number in range(1, 7)]
NAMES = [f"topic-{number}" for number in range(6)]

uuids = st.sampled_from(UUIDS)
brokers = st.integers(1, 3)
replicas = st.lists(brokers, min_size=1, max_size=3, unique=True)
texts = st.text("abc.é", max_size=5)

partition_records = st.builds(
    lambda topic_id, partition, nodes, leader, epoch, elr: records.PartitionRecord(
        topic_id=topic_id,
        partition_id=partition,
        replicas=nodes,
        isr=nodes,
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=epoch,
        directories=[UUIDS[0]] * len(nodes),
        eligible_leader_replicas=elr or None,
    ),
    uuids,
    st.integers(0, 3),
    replicas,
    brokers,
    st.integers(0, 5),
    st.lists(brokers, max_size=2, unique=True),
)

partition_changes = st.builds(
    records.PartitionChangeRecord,
    topic_id=uuids,
    partition_id=st.integers(0, 3),
    isr=st.none() | replicas,
    leader=st.integers(-2, 3),
    leader_recovery_state=st.integers(-1, 1),
    eligible_leader_replicas=st.none() | replicas,
    last_known_elr=st.none() | replicas,
)

broker_records = st.builds(
    records.RegisterBrokerRecord,
    broker_id=brokers,
    incarnation_id=uuids,
    broker_epoch=st.integers(0, 3),
    end_points=st.lists(
        st.builds(records.BrokerEndpoint, name=texts, host=texts, port=st.integers(0, 65535)),
        max_size=2,
    ),
    features=st.lists(
        st.builds(
            records.BrokerFeature,
            name=texts,
            min_supported_version=st.integers(0, 5),
            max_supported_version=st.integers(5, 9),
        ),
        max_size=2,
        unique_by=lambda feature: feature.name,
    ),
    rack=st.none() | texts,
    fenced=st.booleans(),
    in_controlled_shutdown=st.booleans(),
    log_dirs=st.lists(uuids, max_size=2, unique=True),
    cordoned_log_dirs=st.none() | st.lists(uuids, max_size=1),
)

any_record: st.SearchStrategy[Message] = st.one_of(
    st.builds(records.TopicRecord, name=st.sampled_from(NAMES), topic_id=uuids),
    partition_records,
    partition_changes,
    broker_records,
    st.builds(records.UnregisterBrokerRecord, broker_id=brokers, broker_epoch=st.integers(0, 3)),
    st.builds(records.FenceBrokerRecord, id=brokers, epoch=st.integers(0, 3)),
    st.builds(records.UnfenceBrokerRecord, id=brokers, epoch=st.integers(0, 3)),
    st.builds(
        records.BrokerRegistrationChangeRecord,
        broker_id=brokers,
        broker_epoch=st.integers(0, 3),
        fenced=st.integers(-1, 1),
        in_controlled_shutdown=st.integers(0, 1),
        cordoned_log_dirs=st.none() | st.lists(uuids, max_size=1),
    ),
    st.builds(records.RemoveTopicRecord, topic_id=uuids),
    st.builds(records.ClearElrRecord, topic_name=st.sampled_from(["", *NAMES])),
    st.builds(
        records.ConfigRecord,
        resource_type=st.sampled_from([2, 4]),
        resource_name=st.sampled_from(["", *NAMES]),
        name=texts,
        value=st.none() | texts,
    ),
    st.builds(
        records.FeatureLevelRecord,
        name=st.sampled_from(["group.version", "kraft.version", "share.version"]),
        feature_level=st.integers(0, 2),
    ),
    st.builds(
        records.FeatureLevelRecord,
        name=st.just(METADATA_VERSION),
        feature_level=st.integers(23, 30),
    ),
    st.builds(
        records.ClientQuotaRecord,
        entity=st.lists(
            st.builds(
                records.EntityData,
                entity_type=st.sampled_from(["user", "client-id"]),
                entity_name=st.none() | texts,
            ),
            min_size=1,
            max_size=2,
            unique_by=lambda part: part.entity_type,
        ),
        key=st.sampled_from(["producer_byte_rate", "consumer_byte_rate"]),
        value=st.floats(1, 9),
        remove=st.booleans(),
    ),
    st.builds(records.ProducerIdsRecord, next_producer_id=st.integers(0, 9000)),
    st.builds(records.AccessControlEntryRecord, id=uuids, principal=texts, host=texts),
    st.builds(records.RemoveAccessControlEntryRecord, id=uuids),
    st.builds(
        records.UserScramCredentialRecord,
        name=texts,
        mechanism=st.integers(1, 2),
        salt=st.binary(max_size=4),
        iterations=st.integers(4096, 9000),
    ),
    st.builds(records.RemoveUserScramCredentialRecord, name=texts, mechanism=st.integers(1, 2)),
    st.builds(records.DelegationTokenRecord, token_id=texts, owner=texts, renewers=st.lists(texts)),
    st.builds(records.RemoveDelegationTokenRecord, token_id=texts),
    st.builds(records.RegisterControllerRecord, controller_id=brokers, incarnation_id=uuids),
    st.builds(records.NoOpRecord),
    st.builds(records.ZkMigrationStateRecord),
)

histories = st.lists(any_record, max_size=40)
