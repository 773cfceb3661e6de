"""The controller: requests in, records and responses out.

``decide`` handles any request, in steps, because some are large. It reads the state and returns an
Outcome; it does not change the image. The owner writes the records to the metadata log and passes
them to ``replay``, which alone does. Each request sees the decisions of the previous ones.

A controller decides only while its node leads the quorum: from ``activated`` until ``resigned``.
During this term it also acts by itself, when ``deadline_ms`` has come: ``upkeep``.
"""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from moldau.config.broker import BrokerConfig
from moldau.controller.activation import activation_records
from moldau.controller.context import DecisionContext
from moldau.controller.decisions import DECISIONS, Asked
from moldau.controller.outcome import Deciding
from moldau.controller.state import ControllerState
from moldau.controller.upkeep import Upkeep
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

R = TypeVar("R")


class Controller:
    """Handles requests. Errors of a whole request are raised as ApiError."""

    def __init__(
        self,
        node_id: int,
        cluster_id: str,
        config: BrokerConfig,
        rng: random.Random,
        image: MetadataImage = EMPTY_IMAGE,
    ) -> None:
        self.state = ControllerState(node_id, cluster_id, config, rng, image)
        self._upkeep: Upkeep | None = None

    @property
    def image(self) -> MetadataImage:
        """The state after all decisions so far, committed or not."""
        return self.state.image

    def replay(
        self, base_offset: int, epoch: int, timestamp_ms: int, records: Sequence[Message]
    ) -> tuple[MetadataImage, MetadataDelta]:
        """Apply the records of one batch as they were written."""
        return self.state.replay(base_offset, epoch, timestamp_ms, records)

    def activate(self, bootstrap: Sequence[Message]) -> list[Message]:
        """The first records to write, once this node leads the quorum."""
        return activation_records(self.state, bootstrap)

    # Terms

    def activated(
        self, now_ms: int, image: MetadataImage | None = None, transaction_offset: int = -1
    ) -> None:
        """This node leads, and everything before its epoch is committed and in ``image``.

        ``transaction_offset`` is that of a metadata transaction that was left open there.
        Without an image, the state is what was replayed here.
        """
        if image is not None:
            self.state.start_from(image, transaction_offset)
        self.state.begin_term(now_ms)
        self._upkeep = Upkeep(self.state, now_ms)

    def resigned(self) -> None:
        """This node leads no longer: forget the sessions, and all that may be uncommitted."""
        self._upkeep = None
        self.state.start_from(EMPTY_IMAGE)

    @property
    def is_active(self) -> bool:
        return self._upkeep is not None

    # Any request

    @staticmethod
    def handles(api_key: int) -> bool:
        """Whether ``decide`` handles requests with this API key."""
        return api_key in DECISIONS

    def heard(self, request: BrokerHeartbeatRequest, now_ms: int) -> None:
        """A heartbeat has arrived. To be called at once, even if it must wait to be decided."""
        broker = self.image.brokers.get(request.broker_id)
        if broker is not None:
            self.state.sessions.heard(broker, request.broker_epoch, now_ms)

    def died(self, broker_id: int, broker_epoch: int, now_ms: int) -> None:
        """An incarnation of a broker is dead: ``upkeep`` is due, and fences it."""
        self.state.sessions.died(broker_id, broker_epoch, now_ms)

    def decide(
        self, request: Message, version: int, context: DecisionContext, now_ms: int
    ) -> Deciding[Any]:
        """Handle a request. ``now_ms`` is the monotonic time at the first step.

        Raises:
            ApiError: NOT_CONTROLLER; errors of the whole request.
        """
        if not self.is_active:
            raise ApiError(ErrorCode.NOT_CONTROLLER)
        asked = Asked(self.state, request, version, context, now_ms)
        return self._caught_up(DECISIONS[request.API_KEY](asked))

    def _caught_up(self, steps: Deciding[R]) -> Deciding[R]:
        yield from self.state.index.catch_up()
        return (yield from steps)

    # Without a request

    @property
    def deadline_ms(self) -> int | None:
        """When ``upkeep`` is due; None outside a term."""
        return None if self._upkeep is None else self._upkeep.deadline_ms

    def upkeep(self, now_ms: int) -> Deciding[str | None]:
        """What is due: one broker to fence, or some elections. The rest follows the next time.

        The response describes it, for the log of the node; None if nothing was due.
        """
        if self._upkeep is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER)
        return self._caught_up(self._upkeep.due(now_ms))
