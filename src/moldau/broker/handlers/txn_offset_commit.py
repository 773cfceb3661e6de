"""TxnOffsetCommit: the offsets of a group, as part of a transaction (KIP-98, KIP-447).

The partition of ``__consumer_offsets`` that has the group takes part in the transaction like any
other: its coordinator is asked before the first offset is written (KIP-890), and a marker decides
about all of them.
"""

import asyncio
import functools
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.handlers.groups import group_context
from moldau.broker.hosted_shard import TransactionalWrite, as_coordinator_error
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.transaction_verification import (
    Admission,
    Support,
    TransactionVerification,
    Writes,
)
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC, TopicPartition
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Steps
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

FIRST_VERSION_WITH_LOADING: Final = 2
FIRST_VERSION_WITH_ABORTABLE: Final = 4
FIRST_VERSION_THAT_ADDS: Final = 5
NO_SEQUENCE: Final = -1
# The work of a fraction of a millisecond.
OFFSETS_PER_STEP: Final = 500


class TxnOffsetCommit:
    """Commits offsets of groups in transactions."""

    def __init__(
        self,
        groups: GroupRuntime,
        metadata: MetadataCache,
        verification: TransactionVerification,
    ) -> None:
        self._groups = groups
        self._metadata = metadata
        self._verification = verification

    def handle(
        self, request: TxnOffsetCommitRequest, context: "RequestContext"
    ) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
        committing = _Committing(self._groups, request, context)
        steps = committing.split(self._metadata.image)
        split = context.dispatcher.turns.run(steps)
        if not isinstance(split, _Committing):
            return self._commit_later(committing, split)
        if not committing.parts:
            return committing.response
        try:
            admission = self._admit(committing)
        except ApiError as error:
            committing.refuse(error)
            return committing.response
        if not isinstance(admission, Admission) or len(committing.parts) > 1:
            return committing.commit_all(admission)
        committing.commit(admission)
        return committing.committed.send(committing.response)

    async def _commit_later(
        self, committing: "_Committing", split: "Awaitable[_Committing]"
    ) -> TxnOffsetCommitResponse:
        await split
        if committing.parts:
            try:
                admission = self._admit(committing)
            except ApiError as error:
                committing.refuse(error)
            else:
                return await committing.commit_all(admission)
        return committing.response

    def _admit(self, committing: "_Committing") -> Admission | Awaitable[Admission]:
        """Raises ApiError if the group is not coordinated here."""
        request = committing.request
        if not request.group_id:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
        # Before the coordinator of the transaction is asked: it would add the partition in vain.
        self._groups.shard_of(request.group_id)
        version = committing.context.api_version
        return self._verification.admit(
            Writes(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                {committing.place: NO_SEQUENCE},
                Support(
                    version >= FIRST_VERSION_WITH_ABORTABLE, version >= FIRST_VERSION_THAT_ADDS
                ),
            )
        )


class _Committing:
    """One request, and its progress."""

    def __init__(
        self, groups: GroupRuntime, request: TxnOffsetCommitRequest, context: "RequestContext"
    ) -> None:
        self.request = request
        self.context = context
        self.committed = CommittedAnswer()
        self.response = TxnOffsetCommitResponse()
        self.place = TopicPartition(OFFSETS_TOPIC, groups.partition_for(request.group_id))
        # Offsets that are committed together; none if no partition exists.
        self.parts: list[list[TxnOffsetCommitRequestTopic]] = []
        self._groups = groups
        self._answers: dict[str, TxnOffsetCommitResponseTopic] = {}

    def split(self, image: MetadataImage) -> "Steps[_Committing]":
        """Sort out the partitions that do not exist, and divide the others into parts."""
        size = 0
        for topic in self.request.topics:
            known = image.topics_by_name.get(topic.name)
            existing = {} if known is None else known.partitions
            for begin in range(0, len(topic.partitions), OFFSETS_PER_STEP):
                valid = []
                for each in topic.partitions[begin : begin + OFFSETS_PER_STEP]:
                    if each.partition_index in existing:
                        valid.append(each)
                    else:
                        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        self._answer(topic.name, each.partition_index, code)
                if valid:
                    if not self.parts or size + len(valid) > OFFSETS_PER_STEP:
                        self.parts.append([])
                        size = 0
                    self.parts[-1].append(TxnOffsetCommitRequestTopic(topic.name, valid))
                    size += len(valid)
                yield
        return self

    async def commit_all(
        self, admission: Admission | Awaitable[Admission]
    ) -> TxnOffsetCommitResponse:
        """Commit the parts one after the other, when the coordinator has answered."""
        admitted = admission if isinstance(admission, Admission) else await admission
        while self.parts:
            self.commit(admitted)
            await asyncio.sleep(0)
        return await self.committed.send_later(self.response)

    def commit(self, admission: Admission) -> None:
        """Commit the next part."""
        whole = self.request
        part = self.parts.pop(0)
        request = TxnOffsetCommitRequest(
            whole.transactional_id,
            whole.group_id,
            whole.producer_id,
            whole.producer_epoch,
            whole.generation_id,
            whole.member_id,
            whole.group_instance_id,
            part,
        )
        try:
            guard = admission.guard(self.place)
            hosted = self._groups.shard_of(whole.group_id)
            write = TransactionalWrite(
                whole.producer_id, whole.producer_epoch, guard, hosted.shard.replay
            )
            decided: TxnOffsetCommitResponse = hosted.decide(
                hosted.shard.handle_txn_offset_commit,
                request,
                group_context(self.context),
                transaction=write,
            )
        except ApiError as error:
            self._refuse_part(part, error)
            return
        for topic in decided.topics:
            for each in topic.partitions:
                self._answer(topic.name, each.partition_index, each.error_code)
        self.committed.depends_on(hosted, functools.partial(self._on_lost, part))

    def refuse(self, error: ApiError) -> None:
        """Answer everything that exists with an error."""
        for part in self.parts:
            self._refuse_part(part, error)

    def _refuse_part(self, part: list[TxnOffsetCommitRequestTopic], error: ApiError) -> None:
        code = self._shown(as_coordinator_error(error).code)
        for topic in part:
            for each in topic.partitions:
                self._answer(topic.name, each.partition_index, code)

    def _on_lost(self, part: list[TxnOffsetCommitRequestTopic], code: ErrorCode) -> None:
        """The offsets of a part are not committed after all."""
        shown = self._shown(code)
        for topic in part:
            lost = {each.partition_index for each in topic.partitions}
            for answer in self._answers[topic.name].partitions:
                if answer.partition_index in lost:
                    answer.error_code = shown

    def _shown(self, code: ErrorCode) -> ErrorCode:
        if code is ErrorCode.NETWORK_EXCEPTION:
            # The coordinator of the transaction was not reached. On this one clients try again,
            # and do not look for another coordinator of the group.
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        is_old = self.context.api_version < FIRST_VERSION_WITH_LOADING
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and is_old:
            # Clients before 2.0 do not know it (KAFKA-7296).
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return code

    def _answer(self, topic: str, index: int, code: int) -> None:
        answer = self._answers.get(topic)
        if answer is None:
            answer = self._answers[topic] = TxnOffsetCommitResponseTopic(topic)
            self.response.topics.append(answer)
        answer.partitions.append(TxnOffsetCommitResponsePartition(index, code))
