"""The security, quota and quorum APIs of a broker with PLAINTEXT listeners."""

from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC
from moldau.protocol.messages import alter_client_quotas as quotas
from moldau.protocol.messages import create_acls, create_delegation_token, delete_acls
from moldau.protocol.messages import describe_client_quotas as described
from moldau.protocol.messages import describe_quorum as quorum
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.describe_acls import DescribeAclsRequest
from moldau.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.running import RunningBroker, WireClient


def test_nobody_authenticates_on_a_plain_listener(client: WireClient) -> None:
    for version in (0, 1):
        shaken = client.send(SaslHandshakeRequest(mechanism="PLAIN"), version)
        assert shaken.error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = client.send(SaslAuthenticateRequest(auth_bytes=b"x"), 2)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_acls_need_an_authorizer(client: WireClient) -> None:
    disabled = ErrorCode.SECURITY_DISABLED
    assert client.send(DescribeAclsRequest(), 3).error_code == disabled
    creation = create_acls.CreateAclsRequest(creations=[create_acls.AclCreation()] * 2)
    assert [each.error_code for each in client.send(creation, 3).results] == [disabled] * 2
    deletion = delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter()])
    assert [each.error_code for each in client.send(deletion, 3).filter_results] == [disabled]


def test_delegation_tokens_need_somebody_who_is_known(client: WireClient) -> None:
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    for version in (1, 2, 3):
        asked = create_delegation_token.CreateDelegationTokenRequest()
        assert client.send(asked, version).error_code == refused
    requests: list[tuple[Any, int]] = [
        (RenewDelegationTokenRequest(), 2),
        (ExpireDelegationTokenRequest(), 2),
        (DescribeDelegationTokenRequest(), 3),
    ]
    for request, version in requests:
        assert client.send(request, version).error_code == refused


def ask_for_quorum(client: WireClient, topic: str, partition: int, version: int) -> Any:
    wanted = quorum.PartitionData(partition_index=partition)
    topics = [quorum.TopicData(topic_name=topic, partitions=[wanted])]
    return client.send(quorum.DescribeQuorumRequest(topics=topics), version)


def test_the_quorum_is_this_node(broker: RunningBroker, client: WireClient) -> None:
    for version in (0, 1, 2):
        response = ask_for_quorum(client, METADATA_TOPIC, 0, version)
        (partition,) = response.topics[0].partitions
        (voter,) = partition.current_voters
        assert (partition.leader_id, voter.replica_id) == (1, 1)
        assert partition.high_watermark == voter.log_end_offset > 0
        assert (voter.last_caught_up_timestamp > 0) == (version > 0)
    (node,) = response.nodes
    assert node.listeners[0].port == broker.node.ports["CONTROLLER"]
    for topic, index in ((METADATA_TOPIC, 1), ("t", 0)):
        (partition,) = ask_for_quorum(client, topic, index, 2).topics[0].partitions
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_version_of_the_quorum_is_a_feature(client: WireClient) -> None:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    features = client.send(request, 4).finalized_features
    levels = {each.name: each.max_version_level for each in features}
    assert levels["kraft.version"] == 1


def test_quotas_and_credentials_are_kept(
    broker: RunningBroker, client: WireClient, caplog: pytest.LogCaptureFixture
) -> None:
    entity = [quotas.EntityData(entity_type="client-id", entity_name="c")]
    ops = [quotas.OpData(key="producer_byte_rate", value=1024.0)]
    entries = [quotas.EntryData(entity=entity, ops=ops)]
    altered = client.send(quotas.AlterClientQuotasRequest(entries=entries), 1)
    assert [each.error_code for each in altered.entries] == [0]
    assert "not enforced by this broker: producer_byte_rate" in caplog.text
    (entry,) = client.send(described.DescribeClientQuotasRequest(), 1).entries
    assert [(each.key, each.value) for each in entry.values] == [("producer_byte_rate", 1024.0)]

    credential = ScramCredentialUpsertion(
        name="u", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
    )
    request = AlterUserScramCredentialsRequest(upsertions=[credential])
    assert [each.error_code for each in client.send(request, 0).results] == [0]
    (user,) = client.send(DescribeUserScramCredentialsRequest(users=None), 0).results
    assert (user.user, user.credential_infos[0].iterations) == ("u", 4096)
    assert (1, "u") in broker.node.broker.image.scram
