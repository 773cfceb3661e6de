"""Apache Kafka and the broker are asked the same things, and must answer the same.

Requests that clients send on a good day and on a bad one: wrong partitions, stale epochs, odd
sessions, batches that must be refused, questions about security where there is none.
"""

import struct
import uuid
from typing import Any

import crc32c
import pytest

from moldau.protocol.messages import describe_client_quotas, describe_quorum, describe_transactions
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from moldau.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from moldau.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from moldau.protocol.messages.describe_acls import DescribeAclsRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest
from moldau.record.compression import Codec, compress
from moldau.record.header import BATCH_HEADER_SIZE, encode_batch, read_header
from tests.broker.batches import batch, idempotent
from tests.compat.broker_talk import Both, Side

# A duplicate is answered with the time of its first copy.
CLOCK = ("log_append_time_ms",)
GROUP, LOGGER, CLIENT_METRICS, TOPIC, BROKER = 32, 8, 16, 2, 4


@pytest.fixture
def name() -> str:
    return f"answers-{uuid.uuid4().hex[:8]}"


def produce(topic: str, records: bytes | None, partition: int = 0, acks: int = -1) -> Any:
    data = PartitionProduceData(index=partition, records=records)
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


def patched(records: bytes, offset: int, layout: str, value: int) -> bytes:
    """A batch with one field of its header changed and its checksum made right again."""
    changed = bytearray(records)
    struct.pack_into(layout, changed, offset, value)
    struct.pack_into(">I", changed, 17, crc32c.crc32c(bytes(changed[21:])))
    return bytes(changed)


def test_batches_are_taken_and_refused_alike(both: Both, name: str) -> None:
    both.create(name, 2, min_insync_replicas="2")
    good = batch(b"a", b"b")
    wrong_checksum = bytearray(good)
    wrong_checksum[17] ^= 1
    for version in (3, 7, 8, 9, 12):
        both.same(produce(name, good), version)
        both.same(produce(name, bytes(wrong_checksum)), version)
        both.same(produce(name, good, partition=7), version)
        both.same(produce("nowhere", good), version)
    for acks in (1, 2, -2):
        both.same(produce(name, good, acks=acks), 12)
        both.same(produce("nowhere", good, acks=acks), 12)
    for refused in (b"", good + good, good[:-3]):
        both.same(produce(name, refused), 12)
    both.same(produce(f"__{name}", good), 12)


@pytest.mark.parametrize(
    ("settings", "records"),
    [
        ({"max_message_bytes": "100"}, batch(b"x" * 200)),
        ({"cleanup_policy": "compact"}, batch(b"x", b"y")),
        ({"cleanup_policy": "compact,delete"}, batch(b"x", key=b"k")),
        ({"message_timestamp_after_max_ms": "1000"}, batch(b"x", timestamp=1 << 43)),
        ({"message_timestamp_before_max_ms": "1000"}, batch(b"x", b"y", timestamp=1000)),
        ({"compression_type": "gzip"}, batch(b"x" * 100, timestamp=1000)),
    ],
    ids=["too large", "no keys", "keys", "too new", "too old", "another codec"],
)
def test_a_topics_settings_refuse_alike(
    both: Both, name: str, settings: dict[str, str], records: bytes
) -> None:
    both.create(name, **settings)
    both.same(produce(name, records), 12)
    both.same(produce(name, records), 7)


def test_sequences_are_checked_alike(both: Both, name: str) -> None:
    both.create(name, 3)
    anybody = InitProducerIdRequest(transactional_id=None)
    both.each(lambda side: side.wait_for(anybody, 5, lambda answer: answer.error_code == 0))
    both.same(anybody, 5, "producer_id")
    for field in ("producer_id", "producer_epoch"):
        odd = InitProducerIdRequest(transactional_id=None, **{field: 3})
        both.same(odd, 5)
    both.same(InitProducerIdRequest(transactional_id=""), 5)
    steps = [(0, 0), (1, 0), (1, 0), (5, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (0, 0)]
    steps += [(5, 1), (0, 1), (7, 0), (0, 4)]
    for sequence, epoch in steps:
        both.same(produce(name, idempotent(900, sequence, b"x", epoch=epoch)), 12, *CLOCK)
    highest = (1 << 31) - 1
    for sequence, values in ((highest - 1, 1), (highest, 2), (1, 1), (highest, 2), (3, 1)):
        wrapping = idempotent(901, sequence, *[b"x"] * values)
        both.same(produce(name, wrapping, partition=1), 12, *CLOCK)


def test_headers_of_batches_are_checked_alike(both: Both, name: str) -> None:
    both.create(name)
    good = batch(b"a", b"b")
    fields = [(57, ">i", 3), (57, ">i", 1), (57, ">i", 0), (23, ">i", 5), (0, ">q", 77)]
    fields += [(21, ">h", 0x20), (21, ">h", 0x80), (35, ">q", 0)]
    for offset, layout, value in fields:
        both.same(produce(name, patched(good, offset, layout, value)), 12, "log_start_offset")


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_records_are_checked_alike(both: Both, name: str, codec: Codec) -> None:
    both.create(name)
    values = (b"a" * 50, b"b" * 50)
    header = read_header(batch(*values, codec=codec, timestamp=1000), 0)
    plain = batch(*values, timestamp=1000)[BATCH_HEADER_SIZE:]
    for records in (plain, plain[:-3], plain[: len(plain) // 2], plain + plain, plain + b"\0"):
        produced = produce(name, encode_batch(header, compress(codec, records)))
        both.same(produced, 12, "log_start_offset")


def fetch(topic: str, offset: int, partition: int = 0, **fields: Any) -> FetchRequest:
    wanted = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=fields.pop("partition_max_bytes", 1 << 20),
        current_leader_epoch=fields.pop("current_leader_epoch", -1),
        last_fetched_epoch=fields.pop("last_fetched_epoch", -1),
    )
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, session_epoch=-1)
    for key, value in fields.items():
        setattr(request, key, value)
    request.topics = [FetchTopic(topic=topic, partitions=[wanted])]
    return request


def test_fetches_are_answered_alike(both: Both, name: str) -> None:
    both.create(name, 2)
    for _ in range(3):
        both.same(produce(name, batch(b"a" * 100, b"b" * 100, timestamp=1000)), 12)
    both.same(produce(name, batch(b"c" * 100, timestamp=1000), partition=1), 12)
    for version in (4, 6, 11, 12):
        for offset in (0, 3, 6, 7, -1):
            both.same(fetch(name, offset), version)
        both.same(fetch(name, 0, partition=9), version)
        both.same(fetch("nowhere", 0), version)
        both.same(fetch(name, 0, isolation_level=1), version)
    for epoch in (0, 1):
        both.same(fetch(name, 0, current_leader_epoch=epoch), 12)
        both.same(fetch(name, 2, last_fetched_epoch=epoch), 12)
    both.same(fetch(name, 100, last_fetched_epoch=0), 12)
    for limit in (0, 1, 300):
        both.same(fetch(name, 0, max_bytes=limit), 12)
        both.same(fetch(name, 3, partition_max_bytes=limit), 12)
    both.same(fetch(name, 0, replica_id=5), 12)
    little = fetch(name, 0)
    second = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=10)
    little.topics[0].partitions.append(second)
    both.same(little, 12)


def test_fetch_sessions_go_on_alike(both: Both, name: str) -> None:
    both.create(name, 3)
    both.same(produce(name, batch(b"a", timestamp=1000)), 12)

    def begin(side: Side) -> int:
        request = fetch(name, 0, session_epoch=0)
        request.topics[0].partitions.append(FetchPartition(partition=1, partition_max_bytes=1000))
        session_id: int = side.client.send(request, 12).session_id
        return session_id

    ids = dict(zip(both.sides, both.each(begin), strict=True))
    assert all(ids.values())

    def go_on(epoch: int, *added: tuple[int, int], forgotten: tuple[int, ...] = ()) -> None:
        def request(side: Side) -> FetchRequest:
            partitions = [
                FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000)
                for index, offset in added
            ]
            return FetchRequest(
                max_wait_ms=0,
                session_id=ids[side],
                session_epoch=epoch,
                topics=[FetchTopic(topic=name, partitions=partitions)] if added else [],
                forgotten_topics_data=[ForgottenTopic(topic=name, partitions=list(forgotten))],
            )

        both.same(request, 12, "session_id")

    go_on(1)
    go_on(1)
    go_on(2, (0, 1), (2, 0))
    go_on(3, (2, 50))
    go_on(4, (7, 0))
    go_on(5, forgotten=(1, 7, 9))
    go_on(6, forgotten=(0, 2))
    go_on(7)
    both.same(fetch(name, 0, session_id=0, session_epoch=1), 12)
    both.same(fetch(name, 0, session_id=0, session_epoch=-2), 12)


def test_offsets_are_found_alike(both: Both, name: str) -> None:
    both.create(name, 2)
    for timestamp in (1000, 3000, 2000):
        both.same(produce(name, batch(b"x", timestamp=timestamp)), 12)
    for version in range(1, 12):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, 1500, 2500, 4000):
            for partition in (0, 1):
                wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
                topics = [ListOffsetsTopic(name=name, partitions=[wanted])]
                both.same(ListOffsetsRequest(replica_id=-1, topics=topics), version)
    for epoch in (0, 1):
        wanted = ListOffsetsPartition(timestamp=-1, current_leader_epoch=epoch)
        topics = [ListOffsetsTopic(name=name, partitions=[wanted])]
        both.same(ListOffsetsRequest(replica_id=-1, topics=topics), 10)


def test_metadata_is_asked_for_alike(both: Both, name: str) -> None:
    both.create(name, 2)
    for version in range(14):
        both.same(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), version, "cluster_id")
    for version in range(4, 14):
        for odd in ("nowhere", "a/b", "", "__nowhere"):
            request = MetadataRequest(
                topics=[MetadataRequestTopic(name=odd)], allow_auto_topic_creation=False
            )
            both.same(request, version, "cluster_id")

    def by_id(side: Side) -> MetadataRequest:
        known = MetadataRequestTopic(name=None, topic_id=side.topic_id(name))
        unknown = MetadataRequestTopic(name=None, topic_id=b"q" * 16)
        return MetadataRequest(topics=[known, unknown, MetadataRequestTopic(name=name)])

    for version in (10, 11, 12, 13):
        both.same(by_id, version, "cluster_id")


@pytest.mark.parametrize("internal", ["__transaction_state", "__share_group_state"])
def test_internal_topics_come_into_being_alike(both: Both, internal: str) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=internal)])

    def created(side: Side) -> int:
        answer = side.wait_for(asked, 12, lambda answer: bool(answer.topics[0].partitions))
        return len(answer.topics[0].partitions)

    assert both.each(created) == [50, 50]
    resource = DescribeConfigsResource(
        resource_type=TOPIC, resource_name=internal, configuration_keys=None
    )
    both.same(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4)


def test_a_broker_without_security_says_so_alike(both: Both) -> None:
    for version in (1, 2, 3):
        both.same(DescribeAclsRequest(1, None, 1, None, None, 1, 1), version)
        creation = AclCreation(2, "t", 3, "User:a", "*", 3, 3)
        both.same(CreateAclsRequest(creations=[creation, creation]), version, with_messages=True)
        deletion = DeleteAclsFilter(2, None, 1, None, None, 1, 1)
        both.same(DeleteAclsRequest(filters=[deletion]), version, with_messages=True)
        both.same(CreateDelegationTokenRequest(max_lifetime_ms=1), version)
        both.same(DescribeDelegationTokenRequest(owners=None), version)
    for version in (1, 2):
        both.same(RenewDelegationTokenRequest(hmac=b"x"), version)
        both.same(ExpireDelegationTokenRequest(hmac=b"x"), version)
    for version in (0, 1):
        both.same(SaslHandshakeRequest(mechanism="PLAIN"), version)


def test_transactions_and_users_are_looked_for_alike(both: Both) -> None:
    for version in (0, 1, 2):
        both.same(ListTransactionsRequest(state_filters=["Ongoing", "Odd"]), version)
    both.same(ListTransactionsRequest(transactional_id_pattern="("), 2)
    ids = describe_transactions.DescribeTransactionsRequest(transactional_ids=[""])
    both.same(ids, 0)
    both.same(DescribeUserScramCredentialsRequest(users=None), 0, with_messages=True)
    users = [UserName(name=each) for each in ("a", "a", "b", "")]
    both.same(DescribeUserScramCredentialsRequest(users=users), 0, with_messages=True)
    component = describe_client_quotas.ComponentData
    for filters in (
        [],
        [component("user", 2, None)],
        [component("odd", 0, "x")],
        [component("user", 7, "x")],
        [component("user", 0, None)],
        [component("ip", 0, "1.1.1.1"), component("user", 0, "x")],
    ):
        request = describe_client_quotas.DescribeClientQuotasRequest(components=filters)
        both.same(request, 1)


def test_the_quorum_is_described_alike(both: Both) -> None:
    itself = ("leader_epoch", "high_watermark", "log_end_offset", "replica_directory_id")
    times = ("last_fetch_timestamp", "last_caught_up_timestamp")
    for version in (0, 1, 2):
        for topic, index in (("__cluster_metadata", 0), ("__cluster_metadata", 1), ("t", 0)):
            wanted = describe_quorum.PartitionData(partition_index=index)
            topics = [describe_quorum.TopicData(topic_name=topic, partitions=[wanted])]
            request = describe_quorum.DescribeQuorumRequest(topics=topics)
            both.same(request, version, *itself, *times, with_messages=True)
    request = ApiVersionsRequest(client_software_name="compat", client_software_version="1")
    for version in (0, 3, 4):
        both.same(request, version, "api_keys", "finalized_features_epoch")


def describe(kind: int, name: str, *keys: str) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=True)


def alter(kind: int, name: str, key: str, operation: int, value: str | None) -> Any:
    config = AlterableConfig(name=key, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)


def test_settings_of_groups_and_subscriptions_are_described_alike(both: Both, name: str) -> None:
    for kind in (GROUP, CLIENT_METRICS):
        both.same(describe(kind, name), 4)
        both.same(describe(kind, ""), 4)
    both.same(describe(GROUP, name, "consumer.session.timeout.ms", "no.such"), 4)
    for kind in (LOGGER, BROKER):
        both.same(describe(kind, "x"), 4)
        both.same(describe(kind, "2"), 4)


def test_levels_of_loggers_are_changed_and_refused_alike(both: Both) -> None:
    set_, delete, append = 0, 1, 2
    for key, operation, value in (
        ("root", set_, "INFO"),
        ("root", set_, "LOUD"),
        ("root", delete, None),
        ("root", append, "INFO"),
        ("no.such.logger", set_, "INFO"),
        ("no.such.logger", delete, None),
    ):
        both.same(alter(LOGGER, "1", key, operation, value), 1, with_messages=True)
    for node in ("2", "x"):
        both.same(alter(LOGGER, node, "root", set_, "INFO"), 1, with_messages=True)
