"""Describing, listing and deleting groups."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.list_groups import ListGroupsRequest
from tests.broker.grouping import QUICK, Member, commit, committed, find_coordinator
from tests.broker.producing import create_topic
from tests.running import RunningBroker, WireClient


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[WireClient]:
    """A group ``busy`` with a member, and a group ``idle`` with an offset only."""
    with RunningBroker(tmp_path / "data", QUICK) as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t")
        commit(client, "idle", "t", {0: 1})
        member = Member(client, "busy")
        member.join()
        member.sync({member.member_id: b"everything"})
        yield client


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_in_every_version(ready: WireClient, version: int) -> None:
    response = ready.send(ListGroupsRequest(), version)
    assert response.error_code == 0
    found = {each.group_id: each for each in response.groups}
    assert {name: each.protocol_type for name, each in found.items()} == {
        "busy": "consumer",
        "idle": "",
    }
    if version >= 4:
        assert (found["busy"].group_state, found["idle"].group_state) == ("Stable", "Empty")
    if version >= 5:
        assert {each.group_type for each in found.values()} == {"classic"}


def test_a_list_can_be_narrowed(ready: WireClient) -> None:
    response = ready.send(ListGroupsRequest(states_filter=["Stable"]), 5)
    assert [each.group_id for each in response.groups] == ["busy"]
    assert ready.send(ListGroupsRequest(types_filter=["consumer"]), 5).groups == []


@pytest.mark.parametrize("version", range(7))
def test_a_group_is_described_in_every_version(ready: WireClient, version: int) -> None:
    request = DescribeGroupsRequest(groups=["busy", "idle", "unheard of"])
    busy, idle, unknown = ready.send(request, version).groups
    assert (busy.error_code, busy.group_state, busy.protocol_data) == (0, "Stable", "range")
    (member,) = busy.members
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"subscription", b"everything")
    assert (idle.error_code, idle.group_state, idle.members) == (0, "Empty", [])
    assert unknown.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    assert unknown.group_state == "Dead"


def test_operations_are_told_on_request(ready: WireClient) -> None:
    request = DescribeGroupsRequest(groups=["busy"], include_authorized_operations=True)
    (group,) = ready.send(request, 5).groups
    assert group.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
    (group,) = ready.send(DescribeGroupsRequest(groups=["busy"]), 5).groups
    assert group.authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(3))
def test_only_a_group_without_members_can_be_deleted(ready: WireClient, version: int) -> None:
    request = DeleteGroupsRequest(groups_names=["busy", "idle", "unheard of", "idle"])
    response = ready.send(request, version)
    assert {each.group_id: each.error_code for each in response.results} == {
        "busy": ErrorCode.NON_EMPTY_GROUP,
        "idle": 0,
        "unheard of": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert committed(ready, "idle") == {}
    assert [each.group_id for each in ready.send(ListGroupsRequest(), 5).groups] == ["busy"]


def test_without_a_coordinator_there_is_nothing_to_see(client: WireClient) -> None:
    assert client.send(ListGroupsRequest(), 5).groups == []
    (group,) = client.send(DescribeGroupsRequest(groups=["g"]), 6).groups
    assert group.error_code == ErrorCode.NOT_COORDINATOR
    (result,) = client.send(DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert result.error_code == ErrorCode.NOT_COORDINATOR


def test_a_classic_group_is_not_described_as_a_consumer_group(ready: WireClient) -> None:
    request = ConsumerGroupDescribeRequest(group_ids=["busy", ""])
    busy, nameless = ready.send(request, 1).groups
    assert busy.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
