"""Metadata: brokers, topics and their leaders.

Metadata, DescribeCluster and DescribeTopicPartitions are views of one image. Broker addresses are
those of the listener that received the request, so that clients inside and outside a network get
addresses that they can reach.
"""

import logging
from collections.abc import Awaitable, Hashable
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.fenced_brokers import FencedBrokers
from moldau.broker.handlers.cluster import CLUSTER_OPERATIONS, alive_broker
from moldau.broker.lost_leaders import LostLeaders
from moldau.broker.metadata_answers import EncodedAnswer, MetadataAnswers, question_key
from moldau.broker.metadata_cache import MetadataCache, QuorumSource
from moldau.broker.topic_creation import TopicCreation
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID
from moldau.metadata.image import MetadataImage, TopicImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# Every operation on a topic, as a bit set: without an authorizer, all are allowed. READ 3, WRITE 4,
# CREATE 5, DELETE 6, ALTER 7, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
FIRST_METADATA_VERSION_WITH_IDS: Final = 12
# Requests for more are handled in several turns.
MANY_TOPICS: Final = 200
MANY_PARTITIONS: Final = 1_000
PARTITIONS_PER_STEP: Final = 100
NO_LEADER: Final = -1

# By name or by id.
Answers = dict[bytes | str, MetadataResponseTopic]

logger = logging.getLogger(__name__)


class TopicMetadata:
    """Describes topics and where their leaders are; creates topics that clients ask for."""

    def __init__(
        self,
        node_id: int,
        metadata: MetadataCache,
        quorum: QuorumSource,
        configs: DynamicConfig,
        creation: TopicCreation,
        answers: MetadataAnswers,
        turns: Turns,
        lost_leaders: LostLeaders,
        fenced_brokers: FencedBrokers,
    ) -> None:
        self._node_id = node_id
        self._metadata = metadata
        self._quorum = quorum
        self._configs = configs
        self._creation = creation
        self._turns = turns
        self._lost_leaders = lost_leaders
        self._fenced_brokers = fenced_brokers
        self._answers = answers

    def handle(
        self, request: MetadataRequest, context: "RequestContext"
    ) -> MetadataResponse | EncodedAnswer | Awaitable[MetadataResponse | EncodedAnswer]:
        session = context.session
        is_asked_again = session.has_asked_for_metadata
        session.has_asked_for_metadata = True
        lost_leaders = self._lost_leaders
        if lost_leaders.is_undecided or (is_asked_again and lost_leaders.may_be_late):
            return self._answer_when_decided(request, context, is_asked_again=is_asked_again)
        return self._answer_now(request, context)

    def _answer_now(
        self, request: MetadataRequest, context: "RequestContext"
    ) -> MetadataResponse | EncodedAnswer | Awaitable[MetadataResponse | EncodedAnswer]:
        version = context.api_version
        wants_all = request.topics is None or (version == 0 and not request.topics)
        if request.topics is not None and len(request.topics) > MANY_TOPICS:
            return self._answer_many(request, context)
        gone, listed = self._lost_leaders.gone(), self._fenced_brokers.listed()
        key: Hashable = question_key(context.session.listener, version, request)
        if gone or listed:
            key = (gone, listed, key)
        known = self._answers.find(self._metadata.image, key)
        if known is not None:
            return known
        if wants_all:
            return self._answer_all(request, context, key, gone)

        missing = []
        for wanted in request.topics or []:
            if not _is_named(wanted, version):
                return _refuse(request)
            if wanted.name is not None and wanted.name not in self._metadata.image.topics_by_name:
                missing.append(wanted.name)
        if missing:
            if request.allow_auto_topic_creation and self._configs.broker.auto_create_topics_enable:
                return self._create_and_answer(request, context, missing)
            return self._answer(request, context, gone, self._metadata.image)
        response = self._answer(request, context, gone, self._metadata.image)
        return self._answers.keep(key, response, version)

    async def _answer_when_decided(
        self, request: MetadataRequest, context: "RequestContext", *, is_asked_again: bool
    ) -> MetadataResponse | EncodedAnswer:
        """Answer when it is known whether leaders are gone that were lost just now."""
        await self._lost_leaders.decided(is_asked_again=is_asked_again)
        answer = self._answer_now(request, context)
        return await answer if isinstance(answer, Awaitable) else answer

    def _answer_all(
        self,
        request: MetadataRequest,
        context: "RequestContext",
        key: Hashable,
        gone: tuple[int, ...],
    ) -> MetadataResponse | EncodedAnswer | Awaitable[EncodedAnswer]:
        image = self._metadata.image
        topics = image.topics_by_name
        if sum(len(topic.partitions) for topic in topics.values()) <= MANY_PARTITIONS:
            answers = [_known(topics[name]) for name in sorted(topics)]
            response = self._respond(request, context, answers, gone)
            return self._answers.keep(key, response, context.api_version)

        async def answer() -> bytes:
            answers = await self._turns.complete(_knowing(image))
            response = self._respond(request, context, answers, gone)
            return await context.dispatcher.in_thread(response.encode, context.api_version)

        return self._answers.share(image, key, answer)

    async def _answer_many(
        self, request: MetadataRequest, context: "RequestContext"
    ) -> MetadataResponse:
        """Like ``_answer``, but others are served in between. The response is not cached."""
        context.is_large = True
        image = self._metadata.image
        missing = await self._turns.complete(_missing(image, request, context.api_version))
        if missing is None:
            return _refuse(request)
        if (
            missing
            and request.allow_auto_topic_creation
            and self._configs.broker.auto_create_topics_enable
        ):
            image = await self._create(missing)
        answers = await self._turns.complete(_answering(image, request))
        gone = self._lost_leaders.gone()
        return self._respond(request, context, list(answers.values()), gone)

    async def _create_and_answer(
        self, request: MetadataRequest, context: "RequestContext", missing: list[str]
    ) -> MetadataResponse:
        image = await self._create(missing)
        return self._answer(request, context, self._lost_leaders.gone(), image)

    async def _create(self, names: list[str]) -> MetadataImage:
        """Create topics; returns the image to answer from.

        In a cluster that is the one before, as in Kafka: the client learns of the topics when it
        asks again. Their leaders may not know yet that they lead. They would refuse the first
        batches of a producer that pipelines, take a later one for its first, and from then on
        refuse the others as out of order.
        """
        before = self._metadata.image
        try:
            await self._creation.create(names)
        except ApiError as error:
            # There is no controller at the moment; what exists is shown all the same.
            logger.warning("topics that a client asked for cannot be created: %s", error)
        after = self._metadata.image
        return before if len(after.brokers) > 1 else after

    def _answer(
        self,
        request: MetadataRequest,
        context: "RequestContext",
        gone: tuple[int, ...],
        image: MetadataImage,
    ) -> MetadataResponse:
        answers: Answers = {}
        by_id = any(wanted.topic_id != NO_UUID for wanted in request.topics or [])
        for wanted in request.topics or []:
            _answer_one(answers, image, wanted, by_id)
        return self._respond(request, context, list(answers.values()), gone)

    def _respond(
        self,
        request: MetadataRequest,
        context: "RequestContext",
        topics: list[MetadataResponseTopic],
        gone: tuple[int, ...],
    ) -> MetadataResponse:
        """``gone`` are brokers that lead nothing for now, although the image says so."""
        if gone:
            _hide_leaders(topics, gone)
        response = MetadataResponse(
            brokers=self._brokers(context.session.listener),
            cluster_id=self._quorum.cluster_id,
            controller_id=alive_broker(self._metadata.image, self._node_id),
            topics=topics,
        )
        if request.include_topic_authorized_operations:
            for topic in topics:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
        if request.include_cluster_authorized_operations and context.api_version <= 10:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response

    def _brokers(self, listener: str) -> list[MetadataResponseBroker]:
        """Those that are alive, or were until a moment ago."""
        brokers = []
        listed = self._fenced_brokers.listed()
        for registration in self._metadata.image.brokers.values():
            endpoint = registration.endpoint(listener)
            is_listed = not registration.fenced or registration.id in listed
            if endpoint is not None and is_listed:
                brokers.append(
                    MetadataResponseBroker(
                        node_id=registration.id,
                        host=endpoint.host,
                        port=endpoint.port,
                        rack=registration.rack,
                    )
                )
        return brokers


def _is_named(wanted: MetadataRequestTopic, version: int) -> bool:
    """Whether a topic has a name or an id.

    Versions 10 and 11 have a field for ids, but must use names (KAFKA-10774).
    """
    if wanted.topic_id == NO_UUID:
        return wanted.name is not None
    return version >= FIRST_METADATA_VERSION_WITH_IDS


def _knowing(image: MetadataImage) -> Steps[list[MetadataResponseTopic]]:
    """Every topic, with a few partitions per step."""
    answers = []
    for name in sorted(image.topics_by_name):
        topic = image.topics_by_name[name]
        answer = _known(topic, [])
        answers.append(answer)
        yield
        for number, index in enumerate(sorted(topic.partitions)):
            answer.partitions.append(_partition(index, topic.partitions[index]))
            if number % PARTITIONS_PER_STEP == PARTITIONS_PER_STEP - 1:
                yield
    return answers


def _missing(
    image: MetadataImage, request: MetadataRequest, version: int
) -> Steps[list[str] | None]:
    """The names of missing topics; None if a topic in the request has neither name nor id."""
    missing: dict[str, None] = {}
    for wanted in request.topics or []:
        if not _is_named(wanted, version):
            return None
        if wanted.name is not None and wanted.name not in image.topics_by_name:
            missing[wanted.name] = None
        yield
    return list(missing)


def _refuse(request: MetadataRequest) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=each.name or "", topic_id=each.topic_id
            )
            for each in request.topics or []
        ]
    )


def _answering(image: MetadataImage, request: MetadataRequest) -> Steps[Answers]:
    """Like ``_answer``, with one topic per step."""
    answers: Answers = {}
    by_id = False
    for wanted in request.topics or []:
        if wanted.topic_id != NO_UUID:
            by_id = True
            break
        yield
    for wanted in request.topics or []:
        _answer_one(answers, image, wanted, by_id)
        yield
    return answers


def _answer_one(
    answers: Answers, image: MetadataImage, wanted: MetadataRequestTopic, by_id: bool
) -> None:
    """Add the answer for one topic. As in Kafka, a duplicate topic is answered once."""
    if by_id and wanted.topic_id == NO_UUID:
        # A request uses names or ids; as in Kafka, ids have precedence.
        return
    assert by_id or wanted.name is not None
    key: bytes | str = wanted.topic_id if by_id else wanted.name or ""
    if key in answers:
        return
    topic = image.topics_by_id.get(wanted.topic_id)
    if not by_id:
        topic = image.topics_by_name.get(wanted.name or "")
    if topic is not None:
        answers[key] = _known(topic)
        return
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else why_unknown(wanted.name or "")
    answers[key] = MetadataResponseTopic(
        error_code=unknown,
        name=None if by_id else wanted.name,
        topic_id=wanted.topic_id,
        is_internal=wanted.name in INTERNAL_TOPICS,
    )


def why_unknown(name: str) -> ErrorCode:
    """The error for a topic that does not exist: its name may be invalid."""
    if topic_name_problem(name) is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _known(
    topic: TopicImage, partitions: list[MetadataResponsePartition] | None = None
) -> MetadataResponseTopic:
    """The answer for an existing topic; by default with all of its partitions."""
    if partitions is None:
        partitions = [
            _partition(index, topic.partitions[index]) for index in sorted(topic.partitions)
        ]
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
    )


def _hide_leaders(topics: list[MetadataResponseTopic], gone: tuple[int, ...]) -> None:
    """Say of the partitions that some brokers lead that they have no leader.

    The brokers themselves stay in the answer: librdkafka needs a second to find the next leader of
    a partition if its broker disappears in the same moment.
    """
    for topic in topics:
        for partition in topic.partitions:
            if partition.leader_id in gone:
                partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
                partition.offline_replicas = [partition.leader_id]
                partition.leader_id = NO_LEADER


def _partition(index: int, registration: PartitionRegistration) -> MetadataResponsePartition:
    has_leader = registration.leader >= 0
    return MetadataResponsePartition(
        error_code=0 if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=registration.leader,
        leader_epoch=registration.leader_epoch,
        replica_nodes=list(registration.replicas),
        isr_nodes=list(registration.isr),
        offline_replicas=[] if has_leader else list(registration.replicas),
    )
