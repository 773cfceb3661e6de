"""The active controller of the cluster, if it is this node.

The pure controller decides; this module gives it a term: it starts one when this node leads the
quorum, passes it requests one at a time, writes what it decides, and answers when that is
committed.

Rules this module keeps:

* The controller is active only after everything before its epoch is committed and replayed here:
  it must not decide on an old image (KAFKA-15345).
* No other decision is made between a decision and the write of its records: each must see the
  effects of the previous one.
* An answer is sent when everything decided before it is committed, even if it decided nothing
  itself: it may say what only an uncommitted record makes true.
* When the term ends, everything uncommitted is dropped, and whoever waits gets NOT_CONTROLLER.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from moldau.broker.controller_term import ControllerTerm
from moldau.broker.failure_detection import FailureDetection
from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.broker.quorum_listener import QuorumListener
from moldau.broker.raft_driver import RaftDriver
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.controller.context import DecisionContext
from moldau.controller.controller import Controller
from moldau.controller.outcome import Outcome
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import MetadataImage
from moldau.metadata.registrations import BrokerRegistration
from moldau.network.turns import Turns
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest
from moldau.protocol.messages.update_features import UpdateFeaturesRequest
from moldau.protocol.records.metadata import NoOpRecord
from moldau.timers import DeadlineTimer, call_after

logger = logging.getLogger(__name__)

R = TypeVar("R")

NO_CONTEXT: Final = DecisionContext()
# After what was due has failed, as on a full disk.
RETRY_MS: Final = 1_000
# CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders, AlterPartitionReassignments: these
# say how long they may wait for their turn.
_WITH_TIMEOUT: Final = frozenset({19, 20, 37, 43, 45})


class ControllerRuntime(QuorumListener):
    """The controller of this node, which is active at times. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        raft: RaftDriver,
        publisher: MetadataPublisher,
        clock: Clock,
        rng: random.Random,
        turns: Turns,
        detection: FailureDetection,
    ) -> None:
        self._config = config
        self._raft = raft
        self._publisher = publisher
        self._clock = clock
        self._rng = rng
        self._turns = turns
        self._detection = detection
        self._term: ControllerTerm | None = None
        # Held from a decision until its records are written.
        self._deciding = asyncio.Lock()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._upkeep_timer = DeadlineTimer(clock, self._begin_upkeep)
        self._upkeep: asyncio.Task[None] | None = None
        self._is_stopped = False
        publisher.when_advanced(self._on_advanced)

    @property
    def is_active(self) -> bool:
        return self._term is not None

    @property
    def controller(self) -> Controller:
        """The controller with all its decisions, committed or not. Raises NOT_CONTROLLER."""
        return self._current_term().controller

    def stop(self) -> None:
        """Make no more decisions."""
        self._is_stopped = True
        self._resign("the node is stopping")

    # Requests

    async def handle(
        self, request: Message, version: int, context: DecisionContext = NO_CONTEXT
    ) -> Any:
        """Decide on a request; returns the response when it is committed.

        Raises:
            ApiError: NOT_CONTROLLER if this node is not the active controller, or ceases to be it
                before the response is committed; REQUEST_TIMED_OUT if its turn came too late, then
                nothing was done; else the error of the decision.
        """
        arrived_ms = self._clock.monotonic_ms()
        if isinstance(request, BrokerHeartbeatRequest):
            # It counts from its arrival, however long it waits here.
            self.controller.heard(request, arrived_ms)

        def decide(term: ControllerTerm) -> Awaitable[Outcome[Any]]:
            waited_ms = self._clock.monotonic_ms() - arrived_ms
            # As in Kafka, nothing is done in no time at all.
            if request.API_KEY in _WITH_TIMEOUT and waited_ms >= getattr(request, "timeout_ms", 0):
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
            known = context._replace(
                next_offset=self._raft.log_end_offset,
                kraft_version=self._raft.quorum.kraft_version,
            )
            if isinstance(request, UpdateFeaturesRequest):
                known = known._replace(max_kraft_version=self._raft.max_kraft_version(term.epoch))
            elif isinstance(request, BrokerRegistrationRequest):
                has_left = self._detection.has_left(request.broker_id)
                known = known._replace(has_predecessor_left=has_left)
            steps = term.controller.decide(request, version, known, self._clock.monotonic_ms())
            return self._turns.complete(steps)

        return await self._decide(decide)

    async def change(self, decide: Callable[[], Outcome[R]]) -> R:
        """Let the controller decide, commit its records, return its response.

        Raises:
            ApiError: what ``decide`` raises, NOT_CONTROLLER, or KAFKA_STORAGE_ERROR. If the disk
                is full, nothing was changed; if it failed, nothing can be changed until a restart.
        """

        async def outcome(term: ControllerTerm) -> Outcome[R]:
            return decide()

        return await self._decide(outcome)

    async def append(self, records: Sequence[Message]) -> MetadataImage:
        """Commit records that need no decision; returns the image that includes them."""
        await self.change(lambda: Outcome(list(records), None))
        return self._publisher.image

    async def _decide(self, decide: Callable[[ControllerTerm], Awaitable[Outcome[R]]]) -> R:
        async with self._deciding:
            term = self._current_term()
            outcome = await decide(term)
            if outcome.kraft_version is not None:
                self._raft.upgrade_kraft_version(term.epoch, outcome.kraft_version)
            await term.write_in_turns(outcome.records, outcome.is_atomic)
        await term.committed()
        return outcome.response

    def _current_term(self) -> ControllerTerm:
        if self._term is None:
            leader = self._raft.leader_id
            message = "No controller appears to be active."
            if leader >= 0:
                # Maybe this node, which leads but is not active yet.
                message = f"The active controller appears to be node {leader}."
            raise ApiError(ErrorCode.NOT_CONTROLLER, message)
        return self._term

    # Terms

    def on_leader_change(self, leader_id: int, leader_epoch: int) -> None:
        if self._term is not None and self._term.epoch != leader_epoch:
            self._resign(f"epoch {leader_epoch} has begun")
        elif self._term is not None and leader_id != self._config.node_id:
            self._resign("it gave up leading the quorum")
        self._activate_if_ready()

    def on_failure(self, error: BaseException) -> None:
        if self._term is not None:
            self._term.end(error)

    def _on_advanced(self) -> None:
        if self._term is not None:
            self._term.on_advanced()
        else:
            self._activate_if_ready()

    def _activate_if_ready(self) -> None:
        raft = self._raft
        is_due = self._term is None and raft.is_leader and not self._is_stopped
        if is_due and self._publisher.offset >= raft.epoch_start_offset:
            try:
                self._activate()
            except Exception as error:
                if self._term is not None:
                    raft.fail(error)

    def _activate(self) -> None:
        config = self._config
        transaction_offset = self._publisher.transaction_offset
        image = self._publisher.lead()
        controller = Controller(config.node_id, self._raft.cluster_id, config, self._rng)
        controller.activated(self._clock.monotonic_ms(), image, transaction_offset)
        # From here on a failure is one of the active controller, and ends this node.
        self._term = term = ControllerTerm(controller, self._raft, self._publisher, self._clock)
        bootstrap = [] if image.metadata_version >= 0 else self._raft.store.read_bootstrap()
        term.write(controller.activate(bootstrap))
        self._await_idleness()
        self._upkeep_timer.set(controller.deadline_ms)
        self._detection.begin_term(lambda: controller.image.brokers, self._on_dead)
        logger.info("node %d is the active controller of epoch %d", config.node_id, term.epoch)

    def _resign(self, reason: str) -> None:
        term, self._term = self._term, None
        self._upkeep_timer.cancel()
        self._detection.end_term()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if term is not None:
            message = f"node {self._config.node_id} is no longer the active controller: {reason}"
            logger.info("%s", message)
            self._publisher.follow()
            term.end(ApiError(ErrorCode.NOT_CONTROLLER, message))

    # Without a request

    def _on_dead(self, broker: BrokerRegistration) -> None:
        if self._term is not None:
            controller = self._term.controller
            controller.died(broker.id, broker.epoch, self._clock.monotonic_ms())
            self._upkeep_timer.set(controller.deadline_ms)

    def _begin_upkeep(self) -> None:
        if self._term is not None:
            self._upkeep = asyncio.get_running_loop().create_task(self._keep_up(self._term))

    async def _keep_up(self, term: ControllerTerm) -> None:
        """Do what is due: fence brokers whose sessions expired, elect better leaders."""
        again_ms = None
        try:
            async with self._deciding:
                if self._term is not term:
                    return
                steps = term.controller.upkeep(self._clock.monotonic_ms())
                outcome = await self._turns.complete(steps)
                await term.write_in_turns(outcome.records, outcome.is_atomic)
            if outcome.response is not None:
                logger.info("%s", outcome.response)
        except ApiError as error:
            logger.warning("the controller could not do what was due: %s", error)
            again_ms = self._clock.monotonic_ms() + RETRY_MS
        if self._term is term and not self._raft.has_failed:
            self._upkeep_timer.set(again_ms or term.controller.deadline_ms)

    def _await_idleness(self) -> None:
        interval_ms = self._config.metadata_max_idle_interval_ms
        if interval_ms > 0:
            self._idle_timer = call_after(interval_ms, self._on_idle, self._raft.log_end_offset)

    def _on_idle(self, end_offset: int) -> None:
        """Write a NoOpRecord if nothing was written since: standbys see that they are current.

        A node that is alone has nobody to tell, and would flush its disk twice a second for it.
        """
        term = self._term
        if term is None or self._raft.has_failed:
            return
        is_idle = self._raft.log_end_offset == end_offset and not self._deciding.locked()
        if is_idle and self._raft.has_replicas:
            try:
                term.write([NoOpRecord()])
            except ApiError as error:
                logger.warning("no NoOpRecord was written: %s", error)
        self._await_idleness()
