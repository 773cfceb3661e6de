"""Requests to other nodes of the metadata quorum, and what becomes of them."""

import asyncio
import random

from moldau.broker.quorum_peers import QuorumPeers
from moldau.config.broker import BrokerConfig
from moldau.errors import ErrorCode
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.raft.effects import Send
from moldau.raft.log_view import LogEnd
from moldau.raft.messages import Message, Peer, ReplicaKey, RequestFailed, VoteRequest
from tests.broker.scripted_leader import ScriptedLeader

VOTE_KEY = 52


def test_a_voter_without_pre_votes_is_reported_as_such() -> None:
    """Kafka 3.9 has Vote up to version 1. The raft node then asks it for a vote right away."""

    async def body() -> None:
        old = ScriptedLeader(b"")
        await old.start()
        reported: asyncio.Queue[Message] = asyncio.Queue()
        config = BrokerConfig.from_properties({})
        peers = QuorumPeers(
            config, SocketNetwork(), random.Random(1), reported.put_nowait, lambda host, port: None
        )
        peers.open("cluster")
        request = VoteRequest(
            ReplicaKey(1, b"\1" * 16), 7, LogEnd(6, 100), ReplicaKey(2, b"\2" * 16), True
        )
        peers.send(Send(5, Peer(2, *old.address), request))
        asked = await old.next()
        asked.send(ApiVersionsResponse(api_keys=[ApiVersion(VOTE_KEY, 0, 1)]))
        async with asyncio.timeout(30):
            answer = await reported.get()
        assert answer == RequestFailed(5, ErrorCode.UNSUPPORTED_VERSION)
        peers.close()
        await peers.closed()
        await old.stop()

    asyncio.run(body())
