"""CreateTopics and DeleteTopics.

The topics of a request are independent: one that cannot be created gets an error, the others
are created. A name that appears twice is refused both times, since it is unclear which was
meant.
"""

from collections.abc import Generator, Iterable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.controller.configs import (
    alter_resource,
    check_setting_count,
    clear_elr_records,
)
from moldau.controller.outcome import Deciding, Outcome, Steps
from moldau.controller.partitions import (
    check_manual_assignment,
    place_partitions,
    registration_of,
)
from moldau.controller.state import ControllerState, check_record_count
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.ids import METADATA_TOPIC, NO_UUID, new_uuid
from moldau.metadata.image import TOPIC_RESOURCE, ConfigResource
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from moldau.protocol.records.metadata import RemoveTopicRecord, TopicRecord

MAX_PARTITIONS_PER_REQUEST: Final = 10_000
DEFAULT: Final = -1
# A fraction of a millisecond.
PARTITIONS_PER_STEP: Final = 100

UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."
UNKNOWN_TOPIC_ID: Final = "This server does not host this topic ID."


def create_topics(
    state: ControllerState, request: CreateTopicsRequest
) -> Deciding[CreateTopicsResponse]:
    """Create topics; with ``validate_only``, validate without applying."""
    results: list[CreatableTopicResult] = []
    once, twice = yield from _split_duplicates(topic.name for topic in request.topics)
    wanted = []
    for topic in request.topics:
        if topic.name in once and topic.name != METADATA_TOPIC:
            wanted.append(topic)
        yield
    try:
        _check_partition_count(wanted, state.config.num_partitions)
        creation = _Creation(state)
        for topic in wanted:
            results.append((yield from creation.create(topic)))
            check_record_count(len(creation.records))
            yield
    except ApiError as error:
        # Such a request fails as a whole: every topic gets the same error.
        results = []
        for topic in request.topics:
            results.append(_failed(topic.name, error))
            yield
        return Outcome([], CreateTopicsResponse(topics=results))
    for name in twice:
        duplicate = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        results.append(_failed(name, duplicate))
    if METADATA_TOPIC in once:
        message = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
        results.append(_failed(METADATA_TOPIC, ApiError(ErrorCode.INVALID_REQUEST, message)))
    records = [] if request.validate_only else creation.records
    return Outcome(records, CreateTopicsResponse(topics=results))


def _split_duplicates(
    names: Iterable[str],
) -> Generator[None, None, tuple[dict[str, None], dict[str, None]]]:
    """The names that appear once and those that appear more often, both in order."""
    once: dict[str, None] = {}
    twice: dict[str, None] = {}
    for name in names:
        if name in once or name in twice:
            once.pop(name, None)
            twice[name] = None
        else:
            once[name] = None
        yield
    return once, twice


def _check_partition_count(topics: list[CreatableTopic], default: int) -> None:
    total = 0
    for topic in topics:
        if topic.assignments:
            total += len(topic.assignments)
        elif topic.num_partitions == DEFAULT:
            total += default
        elif topic.num_partitions > 0:
            total += topic.num_partitions
    if total > MAX_PARTITIONS_PER_REQUEST:
        message = "Excessively large number of partitions per request."
        raise ApiError(ErrorCode.POLICY_VIOLATION, message)


def _failed(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


class _Creation:
    """Creates the topics of one request, one after the other."""

    def __init__(self, state: ControllerState) -> None:
        self.state = state
        self.records: list[Message] = []
        self._ids: dict[bytes, None] = {}
        self._effective: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def create(self, topic: CreatableTopic) -> Steps[CreatableTopicResult]:
        try:
            self._check_name(topic.name)
            settings = self._settings(topic)
            resource = ConfigResource(TOPIC_RESOURCE, topic.name)
            config_records = alter_resource(self.state, resource, settings, is_new=True)
            partitions = yield from self._partitions(topic)
        except ApiError as error:
            return _failed(topic.name, error)
        topic_id = self._new_id()
        self.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        self.records += config_records
        self.records += clear_elr_records(self.state, config_records)
        for index, registration in enumerate(partitions):
            self.records.append(registration.to_record(topic_id, index))
            if index % PARTITIONS_PER_STEP == PARTITIONS_PER_STEP - 1:
                yield
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_code=ErrorCode.NONE,
            error_message=None,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            configs=self._effective_settings(settings),
        )

    def _new_id(self) -> bytes:
        """An id that no topic has, even if the random generator repeats after a restart."""
        while True:
            topic_id = new_uuid(self.state.rng)
            if topic_id not in self.state.image.topics_by_id and topic_id not in self._ids:
                self._ids[topic_id] = None
                return topic_id

    def _check_name(self, name: str) -> None:
        # The order matters: TOPIC_ALREADY_EXISTS takes precedence over all other errors.
        if name in self.state.image.topics_by_name:
            message = f"Topic '{name}' already exists."
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, message)
        colliding = self.state.colliding.get(name.replace(".", "_"))
        if colliding and ("." in name or "_" in name):
            message = f"Topic '{name}' collides with existing topic: {next(iter(colliding))}"
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        problem = topic_name_problem(name)
        if problem is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)

    def _settings(self, topic: CreatableTopic) -> dict[str, str | None]:
        check_setting_count(len(topic.configs))
        nulls = [config.name for config in topic.configs if config.value is None]
        if nulls:
            message = f"Null value not supported for topic configs: {','.join(nulls)}"
            raise ApiError(ErrorCode.INVALID_CONFIG, message)
        return {config.name: config.value for config in topic.configs}

    def _partitions(self, topic: CreatableTopic) -> Steps[list[PartitionRegistration]]:
        if topic.assignments:
            return (yield from self._assigned_partitions(topic))
        if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        if topic.num_partitions < DEFAULT or topic.num_partitions == 0:
            message = "Number of partitions was set to an invalid non-positive value."
            raise ApiError(ErrorCode.INVALID_PARTITIONS, message)
        config: BrokerConfig = self.state.config
        count = config.num_partitions if topic.num_partitions == DEFAULT else topic.num_partitions
        factor = topic.replication_factor
        if factor == DEFAULT:
            factor = config.default_replication_factor
        return place_partitions(self.state, count, factor)

    def _assigned_partitions(self, topic: CreatableTopic) -> Steps[list[PartitionRegistration]]:
        if topic.replication_factor != DEFAULT:
            message = (
                "A manual partition assignment was specified, but replication "
                "factor was not set to -1."
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        if topic.num_partitions != DEFAULT:
            message = (
                "A manual partition assignment was specified, but numPartitions was not set to -1."
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        partitions: dict[int, PartitionRegistration] = {}
        factor: int | None = None
        for assignment in topic.assignments:
            index = assignment.partition_index
            if index in partitions:
                message = f"Found multiple manual partition assignments for partition {index}"
                raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
            check_manual_assignment(self.state, assignment.broker_ids, factor)
            factor = len(assignment.broker_ids)
            registration = registration_of(self.state, assignment.broker_ids)
            if registration is None:
                message = (
                    "All brokers specified in the manual partition assignment for "
                    f"partition {index} are fenced or in controlled shutdown."
                )
                raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
            partitions[index] = registration
            yield
        if any(index not in partitions for index in range(len(partitions))):
            message = "partitions should be a consecutive 0-based integer sequence"
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        return [partitions[index] for index in range(len(partitions))]

    def _effective_settings(self, settings: dict[str, str | None]) -> list[CreatableTopicConfigs]:
        """Every topic setting with its effective value, sorted by name."""
        overrides = {name: value for name, value in settings.items() if value is not None}
        key = tuple(sorted(overrides.items()))
        known = self._effective.get(key)
        if known is None:
            known = [
                CreatableTopicConfigs(
                    name=entry.name,
                    value=entry.value,
                    read_only=entry.read_only,
                    config_source=entry.source,
                    is_sensitive=entry.sensitive,
                )
                for entry in self.state.describe_topic(overrides)
            ]
            self._effective[key] = known
        return known


def delete_topics(
    state: ControllerState, request: DeleteTopicsRequest, version: int
) -> Deciding[DeleteTopicsResponse]:
    """Delete topics by name or by id, but not by both."""
    if not state.config.delete_topic_enable:
        return Outcome([], _deletion_disabled(request, version))
    deletion = _Deletion(state)
    for name in request.topic_names:
        deletion.by_name(name)
        yield
    for topic in request.topics:
        yield
        if topic.name is None and topic.topic_id == NO_UUID:
            deletion.fail(None, NO_UUID, "Neither topic name nor id were specified.")
        elif topic.name is None:
            deletion.by_id(topic.topic_id)
        elif topic.topic_id == NO_UUID:
            deletion.by_name(topic.name)
        else:
            message = "You may not specify both topic name and topic id."
            deletion.fail(topic.name, topic.topic_id, message)
    outcome = yield from deletion.finish()
    return outcome


def _deletion_disabled(request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
    code = ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
    results = [DeletableTopicResult(name=name, error_code=code) for name in request.topic_names]
    results += [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=code)
        for topic in request.topics
    ]
    return DeleteTopicsResponse(responses=results)


class _Deletion:
    """Validates and deletes the topics of one request."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        self._results: list[DeletableTopicResult] = []
        self._names: dict[str, int] = {}
        self._ids: dict[bytes, int] = {}

    def by_name(self, name: str) -> None:
        self._names[name] = self._names.get(name, 0) + 1

    def by_id(self, topic_id: bytes) -> None:
        self._ids[topic_id] = self._ids.get(topic_id, 0) + 1

    def fail(
        self,
        name: str | None,
        topic_id: bytes,
        message: str,
        code: ErrorCode = ErrorCode.INVALID_REQUEST,
    ) -> None:
        self._results.append(
            DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=code, error_message=message
            )
        )

    def finish(self) -> Deciding[DeleteTopicsResponse]:
        for name, count in self._names.items():
            if count > 1:
                self.fail(name, NO_UUID, "Duplicate topic name.")
            yield
        for topic_id, count in self._ids.items():
            if count > 1:
                self.fail(None, topic_id, "Duplicate topic id.")
            yield
        image = self._state.image
        found: dict[bytes, str] = {}
        for topic_id, count in self._ids.items():
            yield
            topic = image.topics_by_id.get(topic_id)
            if count > 1:
                continue
            if topic is None:
                self.fail(None, topic_id, UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                found[topic_id] = topic.name
        for name, count in self._names.items():
            yield
            if count > 1:
                continue
            topic = image.topics_by_name.get(name)
            if topic is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                self.fail(name, NO_UUID, UNKNOWN_TOPIC, code)
            elif topic.id in self._ids:
                # Neither is deleted: naming it twice may be a mistake.
                found.pop(topic.id, None)
                message = "The provided topic name maps to an ID that was already supplied."
                self.fail(name, topic.id, message)
            else:
                found[topic.id] = name
        records: list[Message] = []
        for topic_id, name in found.items():
            records.append(RemoveTopicRecord(topic_id=topic_id))
            self._results.append(
                DeletableTopicResult(name=name, topic_id=topic_id, error_message=None)
            )
            yield
        return Outcome(records, DeleteTopicsResponse(responses=self._results))
