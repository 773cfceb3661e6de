"""Somebody who adds controllers to the voters and removes them, one at a time (KIP-853).

Controllers join by themselves, too, so that a request may come too late, or twice. There are always
three voters: one of them may lose its disk at any time.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)
from moldau.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from moldau.simulator.clients.cluster import ClusterClient

_PAUSE_MS: Final = (500, 4_000)
_TIMEOUT_MS: Final = 3_000
_FEWEST_VOTERS: Final = 3
_LISTENER: Final = "CONTROLLER"
_PORT: Final = 9093
# The voters have changed since they were asked for.
_CHANGED: Final = (
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
    ErrorCode.REQUEST_TIMED_OUT,
)


class QuorumAdmin:
    """Changes the voters."""

    def __init__(self, client: ClusterClient, cluster_id: str, controllers: Sequence[int]) -> None:
        self._client = client
        self._rng = client.rng
        self._cluster_id = cluster_id
        self._controllers = controllers

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        client = self._client
        while not client.is_stopping:
            await asyncio.sleep(self._rng.randint(*_PAUSE_MS) / 1000)
            try:
                await self._change()
            except Disconnected:
                await client.back_off()

    async def _change(self) -> None:
        client = self._client
        topic = TopicData(METADATA_TOPIC, [PartitionData(0)])
        asked = DescribeQuorumRequest([topic])
        answer = await client.send(client.any_node(), asked, DescribeQuorumResponse)
        if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
            return
        quorum = answer.topics[0].partitions[0]
        others = [each for each in quorum.observers if each.replica_id in self._controllers]
        if len(quorum.current_voters) > _FEWEST_VOTERS:
            await self._remove(self._rng.choice(quorum.current_voters))
        elif others:
            await self._add(self._rng.choice(others))

    async def _remove(self, voter: ReplicaState) -> None:
        client = self._client
        asked = RemoveRaftVoterRequest(
            self._cluster_id, voter.replica_id, voter.replica_directory_id
        )
        answer = await client.send(client.any_node(), asked, RemoveRaftVoterResponse)
        self._note(f"removes the voter {voter.replica_id}", answer.error_code)

    async def _add(self, observer: ReplicaState) -> None:
        client = self._client
        asked = AddRaftVoterRequest(
            cluster_id=self._cluster_id,
            timeout_ms=_TIMEOUT_MS,
            voter_id=observer.replica_id,
            voter_directory_id=observer.replica_directory_id,
            listeners=[Listener(_LISTENER, f"node-{observer.replica_id}", _PORT)],
        )
        answer = await client.send(client.any_node(), asked, AddRaftVoterResponse)
        self._note(f"adds the voter {observer.replica_id}", answer.error_code)

    def _note(self, what: str, error_code: int) -> None:
        client = self._client
        code = ErrorCode(error_code)
        if code == ErrorCode.NONE:
            client.world.tell(client.name, what)
        elif code not in _CHANGED and not code.retriable:
            client.world.surprise(client.name, f"{what}: {code.name}")
