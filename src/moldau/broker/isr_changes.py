"""Asks the controller to change ISRs (AlterPartition).

Leaders of many partitions notice at the same time that a follower lags or has caught up. Their
changes are collected and sent together, one request at a time. A request is repeated until it is
answered: whether the controller has made a change is unknown until then, and the partition counts
on the worse case meanwhile.

Rules this module keeps:

* A change that its partition does not wait for any more, because the metadata was faster, is
  neither sent again nor reported.
* A newer change of a partition replaces an older one that is not sent yet.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.controller_channel import ControllerChannel
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import RECOVERED
from moldau.protocol.file_region import Part
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    PartitionDataResponse,
    TopicData,
)
from moldau.replica.leader_state import IsrChange, LeaderAndIsr
from moldau.timers import call_after

if TYPE_CHECKING:
    from moldau.broker.leadership import Leadership

logger = logging.getLogger(__name__)

# Kafka's pause before a request is repeated.
RETRY_PAUSE_MS: Final = 50
# What the controller decides about at once, at most.
MAX_PER_REQUEST: Final = 1000

_FIRST_VERSION_WITH_EPOCHS: Final = 3

Key = tuple[bytes, int]
Changes = dict[Key, tuple["Leadership", IsrChange]]


class IsrChanges:
    """The changes of ISRs that this broker waits for. To be used on one event loop."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel
    ) -> None:
        """``broker_epoch`` returns the epoch of this broker's registration."""
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._waiting: Changes = {}
        self._sending: asyncio.Task[None] | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def submit(self, leadership: "Leadership", change: IsrChange) -> None:
        """Ask for ``change``; its ``isr_changed`` or ``isr_refused`` is called."""
        self._waiting[leadership.key] = (leadership, change)
        if self._pause is None:
            self._send_soon()

    def submit_again(self, leadership: "Leadership", change: IsrChange) -> None:
        """Ask for a change again that was refused, after a pause."""
        self._put_back(leadership, change)
        self._send_later()

    def stop(self) -> None:
        """Ask for nothing any more."""
        self._is_stopped = True
        self._waiting.clear()
        if self._pause is not None:
            self._pause.cancel()
        if self._sending is not None:
            self._sending.cancel()

    def _put_back(self, leadership: "Leadership", change: IsrChange) -> None:
        """Wait for another request, unless a newer change of the partition does already."""
        self._waiting.setdefault(leadership.key, (leadership, change))

    def _send_later(self) -> None:
        if self._pause is None and not self._is_stopped:
            self._pause = call_after(RETRY_PAUSE_MS, self._end_pause)

    def _end_pause(self) -> None:
        self._pause = None
        self._send_soon()

    def _send_soon(self) -> None:
        if self._sending is None and self._waiting and not self._is_stopped:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        # In a later turn than the first change, so that others of the same turn are in the request.
        try:
            while self._waiting and self._pause is None:
                await self._send_some()
        finally:
            self._sending = None

    async def _send_some(self) -> None:
        some = dict(list(self._waiting.items())[:MAX_PER_REQUEST])
        for key in some:
            del self._waiting[key]
        some = {key: each for key, each in some.items() if each[0].is_pending(each[1])}
        if not some:
            return
        try:
            response: AlterPartitionResponse = await self._channel.send(self._request(some))
        except ApiError as error:
            # The controller changes, or this broker registers again; both end.
            logger.warning("the ISRs of %d partitions are not changed yet: %s", len(some), error)
        except Exception:
            # Nobody else asks for them: without another attempt they would wait for ever.
            logger.exception("the ISRs of %d partitions are not changed yet", len(some))
        else:
            self._take_answers(some, response)
            return
        for leadership, change in some.values():
            self._put_back(leadership, change)
        self._send_later()

    def _request(self, changes: Changes) -> AlterPartitionRequest:
        topics: dict[bytes, TopicData] = {}
        for (topic_id, index), (_, change) in changes.items():
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            epochs = zip(change.isr, change.broker_epochs, strict=True)
            topic.partitions.append(
                PartitionData(
                    partition_index=index,
                    leader_epoch=change.leader_epoch,
                    new_isr_with_epochs=[BrokerState(*each) for each in epochs],
                    # A leader that has served what it has needs no more recovery (KIP-704).
                    leader_recovery_state=RECOVERED,
                    partition_epoch=change.partition_epoch,
                )
            )
        return _ForAnyController(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch(),
            topics=list(topics.values()),
        )

    def _take_answers(
        self,
        sent: Changes,
        response: AlterPartitionResponse,
    ) -> None:
        answers = {
            (topic.topic_id, answer.partition_index): answer
            for topic in response.topics
            for answer in topic.partitions
        }
        for key, (leadership, change) in sent.items():
            answer = answers.get(key)
            if answer is None:
                logger.warning("the controller leaves out a partition of topic %s", key[0].hex())
                self.submit_again(leadership, change)
            elif answer.error_code:
                leadership.isr_refused(change, ErrorCode(answer.error_code))
            else:
                leadership.isr_changed(change, _leader_and_isr(answer))


def _leader_and_isr(answer: PartitionDataResponse) -> LeaderAndIsr:
    return LeaderAndIsr(answer.leader_epoch, tuple(answer.isr), answer.partition_epoch)


class _ForAnyController(AlterPartitionRequest):
    """A request that is also written for controllers that know no broker epochs (before KIP-903).

    Which version the controller has is known when the request is sent.
    """

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version >= _FIRST_VERSION_WITH_EPOCHS:
            return super().encode_parts(writer_prefix, version)
        without_epochs = AlterPartitionRequest(
            self.broker_id,
            self.broker_epoch,
            [
                TopicData(topic.topic_id, [_without_epochs(each) for each in topic.partitions])
                for topic in self.topics
            ],
        )
        return without_epochs.encode_parts(writer_prefix, version)


def _without_epochs(wanted: PartitionData) -> PartitionData:
    return PartitionData(
        partition_index=wanted.partition_index,
        leader_epoch=wanted.leader_epoch,
        new_isr=[each.broker_id for each in wanted.new_isr_with_epochs],
        leader_recovery_state=wanted.leader_recovery_state,
        partition_epoch=wanted.partition_epoch,
    )
