"""ApiVersions, Metadata and DescribeCluster: versions, brokers, topics and their leaders.

Metadata, DescribeCluster and DescribeTopicPartitions are views of one image. Broker addresses are
those of the listener that received the request, so that clients inside and outside a network get
addresses that they can reach.
"""

from collections.abc import Awaitable, Hashable
from typing import TYPE_CHECKING, Final

from moldau.broker.dispatch import describe_versions
from moldau.broker.metadata_answers import EncodedAnswer, question_key
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID
from moldau.metadata.image import MetadataImage, TopicImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.network.turns import Steps
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

# Every operation on a resource, as a bit set: without an authorizer, all are allowed.
# CREATE 5, ALTER 7, DESCRIBE 8, CLUSTER_ACTION 9, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11,
# IDEMPOTENT_WRITE 12; READ 3, WRITE 4, CREATE 5, DELETE 6, ALTER 7, DESCRIBE 8, and the configs.
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
FIRST_METADATA_VERSION_WITH_IDS: Final = 12
FIRST_VERSION_WITH_SOFTWARE: Final = 3
BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
# Requests for more are handled in several turns.
MANY_TOPICS: Final = 200
MANY_PARTITIONS: Final = 1_000
PARTITIONS_PER_STEP: Final = 100

# By name or by id.
Answers = dict[bytes | str, MetadataResponseTopic]


def api_versions(
    broker: "Broker", request: ApiVersionsRequest, context: "RequestContext"
) -> ApiVersionsResponse:
    if context.api_version >= FIRST_VERSION_WITH_SOFTWARE:
        session = context.session
        session.client_software_name = request.client_software_name
        session.client_software_version = request.client_software_version
        for text in (request.client_software_name, request.client_software_version):
            if not _is_software_name(text):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    kraft_version = broker.metadata.quorum.kraft_version
    handlers = context.dispatcher.handlers
    return describe_versions(handlers, broker.image, kraft_version, context.api_version)


def _is_software_name(name: str) -> bool:
    """KIP-511: letters, digits, dots and dashes, with a letter or digit at both ends."""
    return (
        bool(name)
        and name.isascii()
        and name[0].isalnum()
        and name[-1].isalnum()
        and all(char.isalnum() or char in ".-" for char in name)
    )


def describe_cluster(
    broker: "Broker", request: DescribeClusterRequest, context: "RequestContext"
) -> DescribeClusterResponse:
    wanted = CONTROLLER_ENDPOINTS if context.dispatcher.is_controller else BROKER_ENDPOINTS
    if request.endpoint_type != wanted:
        known = request.endpoint_type in (BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS)
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"this listener serves endpoint type {wanted}, not {request.endpoint_type}"
        raise ApiError(code, message)
    response = DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
    )
    listener = context.session.listener
    if wanted == CONTROLLER_ENDPOINTS:
        _add_controllers(broker, response, listener)
        return response
    for registration in broker.image.brokers.values():
        endpoint = registration.endpoint(listener)
        if endpoint is None or (registration.fenced and not request.include_fenced_brokers):
            continue
        response.brokers.append(
            DescribeClusterBroker(
                broker_id=registration.id,
                host=endpoint.host,
                port=endpoint.port,
                rack=registration.rack,
                is_fenced=registration.fenced,
            )
        )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _add_controllers(broker: "Broker", response: DescribeClusterResponse, listener: str) -> None:
    for controller in broker.image.controllers.values():
        for endpoint in controller.endpoints:
            if endpoint.name == listener:
                response.brokers.append(
                    DescribeClusterBroker(
                        broker_id=controller.id, host=endpoint.host, port=endpoint.port
                    )
                )


def metadata(
    broker: "Broker", request: MetadataRequest, context: "RequestContext"
) -> MetadataResponse | EncodedAnswer | Awaitable[MetadataResponse | EncodedAnswer]:
    version = context.api_version
    wants_all = request.topics is None or (version == 0 and not request.topics)
    if request.topics is not None and len(request.topics) > MANY_TOPICS:
        return _answer_many(broker, request, context)
    key = question_key(context.session.listener, version, request)
    known = broker.metadata_answers.find(broker.image, key)
    if known is not None:
        return known
    if wants_all:
        return _answer_all(broker, request, context, key)

    missing = []
    for wanted in request.topics or []:
        if not _is_named(wanted, version):
            return _refuse(request)
        if wanted.name is not None and wanted.name not in broker.image.topics_by_name:
            missing.append(wanted.name)
    if missing:
        if request.allow_auto_topic_creation and broker.config.auto_create_topics_enable:
            return _create_and_answer(broker, request, context, missing)
        return _answer(broker, request, context)
    return broker.metadata_answers.keep(key, _answer(broker, request, context), version)


def _is_named(wanted: MetadataRequestTopic, version: int) -> bool:
    """Whether a topic has a name or an id.

    Versions 10 and 11 have a field for ids, but must use names (KAFKA-10774).
    """
    if wanted.topic_id == NO_UUID:
        return wanted.name is not None
    return version >= FIRST_METADATA_VERSION_WITH_IDS


def _answer_all(
    broker: "Broker", request: MetadataRequest, context: "RequestContext", key: Hashable
) -> MetadataResponse | EncodedAnswer | Awaitable[EncodedAnswer]:
    image = broker.image
    topics = image.topics_by_name
    if sum(len(topic.partitions) for topic in topics.values()) <= MANY_PARTITIONS:
        answers = [_known(topics[name]) for name in sorted(topics)]
        response = _respond(broker, request, context, answers)
        return broker.metadata_answers.keep(key, response, context.api_version)

    async def answer() -> bytes:
        answers = await broker.turns.complete(_knowing(image))
        response = _respond(broker, request, context, answers)
        return await context.dispatcher.in_thread(response.encode, context.api_version)

    return broker.metadata_answers.share(image, key, answer)


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


async def _answer_many(
    broker: "Broker", request: MetadataRequest, context: "RequestContext"
) -> MetadataResponse:
    """Like ``_answer``, but other requests are served in between. The response is not cached."""
    context.is_large = True
    missing = await broker.turns.complete(_missing(broker.image, request, context.api_version))
    if missing is None:
        return _refuse(request)
    if missing and request.allow_auto_topic_creation and broker.config.auto_create_topics_enable:
        await broker.auto_create_topics(missing)
    answers = await broker.turns.complete(_answering(broker.image, request))
    return _respond(broker, request, context, list(answers.values()))


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


async def _create_and_answer(
    broker: "Broker", request: MetadataRequest, context: "RequestContext", missing: list[str]
) -> MetadataResponse:
    await broker.auto_create_topics(missing)
    return _answer(broker, request, context)


def _answer(
    broker: "Broker", request: MetadataRequest, context: "RequestContext"
) -> MetadataResponse:
    answers: Answers = {}
    by_id = any(wanted.topic_id != NO_UUID for wanted in request.topics or [])
    for wanted in request.topics or []:
        _answer_one(answers, broker.image, wanted, by_id)
    return _respond(broker, request, context, list(answers.values()))


def _answering(image: MetadataImage, request: MetadataRequest) -> Steps[Answers]:
    """Like ``_answer``, with one topic per step."""
    answers: Answers = {}
    by_id = any(wanted.topic_id != NO_UUID for wanted in request.topics or [])
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


def _respond(
    broker: "Broker",
    request: MetadataRequest,
    context: "RequestContext",
    topics: list[MetadataResponseTopic],
) -> MetadataResponse:
    response = MetadataResponse(
        brokers=_alive_brokers(broker, context.session.listener),
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=topics,
    )
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    if request.include_cluster_authorized_operations and context.api_version <= 10:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _alive_brokers(broker: "Broker", listener: str) -> list[MetadataResponseBroker]:
    brokers = []
    for registration in broker.image.brokers.values():
        endpoint = registration.endpoint(listener)
        if endpoint is not None and not registration.fenced:
            brokers.append(
                MetadataResponseBroker(
                    node_id=registration.id,
                    host=endpoint.host,
                    port=endpoint.port,
                    rack=registration.rack,
                )
            )
    return brokers
