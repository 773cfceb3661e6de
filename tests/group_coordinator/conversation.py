"""A shard with its log, and clients that send requests to it; the exchange becomes a transcript.

Every record is encoded, so that ``reload`` starts from the bytes that would be on disk.
Member ids are random; in the transcript the first one of client ``a`` is ``a#1``.
"""

import random
import re
import textwrap

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import Outcome, Reply
from moldau.errors import ErrorCode
from moldau.group_coordinator.records import decode_record, encode_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.group_coordinator.shard import GroupCoordinatorShard
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message, Struct
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from moldau.protocol.records.client_data import ConsumerProtocolSubscription
from moldau.protocol.records.group_coordinator import GroupMetadataKey, GroupMetadataValue
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue

GROUP = "readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000

_MEMBER_ID = re.compile(
    r"[\w.]+-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


def subscription(*topics: str, version: int = 3) -> bytes:
    body = ConsumerProtocolSubscription(topics=list(topics)).encode(version)
    return version.to_bytes(2, "big") + body


class Client:
    """One client: its name, its member id and its generation."""

    def __init__(
        self,
        name: str,
        instance_id: str | None = None,
        version: int = 9,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> None:
        self.name = name
        self.instance_id = instance_id
        self.version = version
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.member_id = ""
        self.generation_id = -1
        self.is_leader = False
        self.protocol_name: str | None = None
        self.protocol_type = "consumer"
        self.protocols = {"range": subscription("rivers")}
        self.assignment: bytes | None = None
        self.members: list[str] = []


class Conversation:
    def __init__(self, **settings: str) -> None:
        properties = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig.from_properties(properties)
        self.rng = random.Random(7)
        self.now_ms = 1000
        # Tests may set the wall clock; no time passes.
        self.wall_ahead_ms = 1_700_000_000_000
        self.lines: list[str] = []
        self.log: list[tuple[bytes, bytes | None]] = []
        self.image = MetadataImage()
        self.replies: dict[int, Struct] = {}
        self._names: dict[str, str] = {}
        self._next_token = 0
        self._waiting: dict[int, Client] = {}
        self.shard = self._new_shard()

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_ahead_ms

    @property
    def now(self) -> Now:
        return Now(self.wall_ms, self.now_ms)

    # -- the runtime's part ----------------------------------------------------------------

    def _new_shard(self) -> GroupCoordinatorShard:
        shard = GroupCoordinatorShard(self.config, self.rng)
        for key, value in self.log:
            record = decode_record(key, value)
            if record is not None:
                shard.replay(record.key, record.value)
        shard.on_metadata(self.image, None)
        return shard

    def reload(self) -> None:
        """Restart the broker; pending requests get no reply."""
        self._waiting.clear()
        self.lines.append("-- reload --")
        self.shard = self._new_shard()
        self.apply(self.shard.on_loaded(self.now))

    def apply(self, outcome: Outcome) -> None:
        for record in outcome.records:
            self.log.append(encode_record(record))
            self.shard.replay(record.key, record.value)
            self._note(f"  log {self._describe_record(record.key, record.value)}")
        for reply in outcome.replies:
            self._hear(reply)

    def advance(self, duration_ms: int) -> None:
        """Let time pass, firing every timer at its time."""
        self._note(f"-- {duration_ms / 1000:g} s --")
        end_ms = self.now_ms + duration_ms
        while True:
            deadline_ms = self.shard.next_deadline_ms()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self.apply(self.shard.tick(self.now))
        self.now_ms = end_ms

    def change_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.image = image
        self.apply(self.shard.on_metadata(image, delta))

    # -- what clients say ------------------------------------------------------------------

    def join(self, client: Client) -> int:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=client.session_ms,
            rebalance_timeout_ms=client.rebalance_ms,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type=client.protocol_type,
            protocols=[JoinGroupRequestProtocol(n, m) for n, m in client.protocols.items()],
        )
        token = self.token(client)
        self._note(f"{client.name} joins as {client.member_id or 'nobody'}")
        context = self.context(client)
        self.apply(self.shard.handle_join_group(token, request, context, self.now))
        return token

    def enter(self, client: Client) -> int:
        """Join, and join again with the id that the first attempt returned."""
        token = self.join(client)
        reply = self.replies.get(token)
        is_refused = isinstance(reply, JoinGroupResponse)
        if is_refused and reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # type: ignore[union-attr]
            token = self.join(client)
        return token

    def sync(self, client: Client, assignment: dict[str, bytes] | None = None) -> int:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.generation_id,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            protocol_type=client.protocol_type,
            protocol_name=client.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id, data)
                for member_id, data in (assignment or {}).items()
            ],
        )
        token = self.token(client)
        brings = " with the assignment" if assignment else ""
        self._note(f"{client.name} syncs {client.generation_id}{brings}")
        context = GroupRequestContext(5, client.name, "/127.0.0.1")
        self.apply(self.shard.handle_sync_group(token, request, context, self.now))
        return token

    def heartbeat(self, client: Client) -> ErrorCode:
        request = HeartbeatRequest(
            GROUP, client.generation_id, client.member_id, client.instance_id
        )
        token = self.token(client)
        self._note(f"{client.name} beats {client.generation_id}")
        context = self.context(client)
        self.apply(self.shard.handle_heartbeat(token, request, context, self.now))
        reply = self.replies[token]
        assert isinstance(reply, HeartbeatResponse)
        return ErrorCode(reply.error_code)

    def leave(self, *clients: Client, version: int = 5) -> LeaveGroupResponse:
        members = [MemberIdentity(c.member_id, c.instance_id) for c in clients]
        request = LeaveGroupRequest(GROUP, members=members)
        if version < 3:
            request = LeaveGroupRequest(GROUP, member_id=clients[0].member_id)
        token = self.token(clients[0])
        self._note(f"{' and '.join(c.name for c in clients)} leaves")
        context = GroupRequestContext(version, clients[0].name, "/127.0.0.1")
        self.apply(self.shard.handle_leave_group(token, request, context, self.now))
        reply = self.replies[token]
        assert isinstance(reply, LeaveGroupResponse)
        return reply

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        client: Client | None = None,
        *,
        metadata: str = "",
        retention_ms: int = -1,
        version: int = 9,
        group: str = GROUP,
    ) -> list[ErrorCode]:
        """Without a client, the commit comes from outside the group."""
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1 if client is None else client.generation_id,
            member_id="" if client is None else client.member_id,
            group_instance_id=None if client is None else client.instance_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    topic, partitions=[OffsetCommitRequestPartition(index, offset, 3, metadata)]
                )
                for (topic, index), offset in offsets.items()
            ],
        )
        who = client or Client("somebody")
        token = self.token(who)
        self._note(f"{who.name} commits {_offsets(offsets)}")
        context = GroupRequestContext(version, who.name, "/127.0.0.1")
        self.apply(self.shard.handle_offset_commit(token, request, context, self.now))
        reply = self.replies[token]
        assert isinstance(reply, OffsetCommitResponse)
        return [ErrorCode(p.error_code) for topic in reply.topics for p in topic.partitions]

    def committed(self, topic: str = "rivers", partition: int = 0, group: str = GROUP) -> int:
        asked = [OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
        request = OffsetFetchRequestGroup(group, topics=asked)
        response = self.shard.handle_offset_fetch(request, False)
        return response.topics[0].partitions[0].committed_offset

    def form(self, *clients: Client) -> None:
        """Bring a group to its first stable generation; member n has the assignment bn."""
        for client in clients:
            self.enter(client)
        self.advance(self.config.group_initial_rebalance_delay_ms * 3)
        self.finish(*clients)

    def finish(self, *clients: Client) -> None:
        assignment = {c.member_id: f"of {c.name}".encode() for c in clients}
        for client in clients:
            self.sync(client, assignment if client.is_leader else None)

    def token(self, client: Client) -> int:
        self._next_token += 1
        self._waiting[self._next_token] = client
        return self._next_token

    def context(self, client: Client) -> GroupRequestContext:
        return GroupRequestContext(client.version, client.name, "/127.0.0.1")

    def is_waiting(self, token: int) -> bool:
        return token not in self.replies

    # -- the transcript --------------------------------------------------------------------

    def transcript(self) -> str:
        """The exchange since the last call."""
        text = "\n".join(self.lines)
        self.lines = []
        return text

    def expect(self, expected: str) -> None:
        """Check the transcript since the last call."""
        assert self.transcript() == textwrap.dedent(expected).strip("\n").rstrip()

    def _hear(self, reply: Reply) -> None:
        client = self._waiting.pop(reply.token, None)
        assert reply.token not in self.replies, "a request was answered twice"
        self.replies[reply.token] = reply.response
        if client is None:
            return
        response = reply.response
        if isinstance(response, JoinGroupResponse):
            said = self._join_heard(client, response)
        elif isinstance(response, SyncGroupResponse):
            client.assignment = None if response.error_code else response.assignment
            said = _error(response.error_code) or f"has {_text(response.assignment)}"
        elif isinstance(response, HeartbeatResponse):
            said = _error(response.error_code) or "is alive"
        elif isinstance(response, LeaveGroupResponse):
            errors = [_error(member.error_code) or "gone" for member in response.members]
            said = _error(response.error_code) or ", ".join(errors) or "gone"
        elif isinstance(response, OffsetCommitResponse):
            codes = [p.error_code for topic in response.topics for p in topic.partitions]
            said = ", ".join(_error(code) or "committed" for code in codes)
        else:
            said = type(response).__name__
        self._note(f"  {client.name}: {said}")

    def _join_heard(self, client: Client, response: JoinGroupResponse) -> str:
        if response.error_code:
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                client.member_id = response.member_id
            return f"{_error(response.error_code)} {response.member_id}".rstrip()
        client.member_id = response.member_id
        client.generation_id = response.generation_id
        client.protocol_name = response.protocol_name
        client.is_leader = response.leader == response.member_id
        client.members = [member.member_id for member in response.members]
        said = f"{response.member_id} in {response.generation_id} by {response.protocol_name}"
        if client.is_leader:
            said += f", leads {' '.join(client.members)}"
        return said + (", skips the assignment" if response.skip_assignment else "")

    def _describe_record(self, key: Message, value: Message | None) -> str:
        if isinstance(key, GroupMetadataKey):
            if not isinstance(value, GroupMetadataValue):
                return f"{key.group} is gone"
            members = " ".join(f"{m.member_id}={_text(m.assignment)}" for m in value.members)
            return f"{key.group} {value.generation} {value.protocol} {members or 'empty'}"
        if isinstance(key, OffsetCommitKey):
            what = value.offset if isinstance(value, OffsetCommitValue) else "gone"
            return f"{key.group} {key.topic}-{key.partition} {what}"
        return type(key).__name__

    def _note(self, line: str) -> None:
        self.lines.append(_MEMBER_ID.sub(self._short_name, line))

    def _short_name(self, match: "re.Match[str]") -> str:
        member_id = match[0]
        if member_id not in self._names:
            prefix = member_id[:-37]
            count = sum(name.startswith(prefix + "#") for name in self._names.values())
            self._names[member_id] = f"{prefix}#{count + 1}"
        return self._names[member_id]


def _error(code: int) -> str:
    return ErrorCode(code).name if code else ""


def _offsets(offsets: dict[tuple[str, int], int]) -> str:
    return " ".join(f"{topic}-{index}={offset}" for (topic, index), offset in offsets.items())


def _text(assignment: bytes) -> str:
    return repr(assignment.decode(errors="replace"))
