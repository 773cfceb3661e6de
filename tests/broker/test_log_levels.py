"""Log levels through IncrementalAlterConfigs and DescribeConfigs (KIP-412)."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from moldau.broker.handlers.logger_configs import LoggerConfigs
from moldau.broker.log_levels import LogLevels
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import BROKER_LOGGER_RESOURCE, TOPIC_RESOURCE
from moldau.network.turns import Turns
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.broker.producing import create_topic
from tests.running import RunningBroker, WireClient

SET, DELETE, APPEND = 0, 1, 2
LOGGER = "tests.broker.talkative"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    talkative = logging.getLogger(LOGGER)
    yield talkative
    talkative.setLevel(logging.NOTSET)


def change(name: str, operation: int, value: str | None, node: str = "1") -> AlterConfigsResource:
    config = AlterableConfig(name=name, config_operation=operation, value=value)
    return AlterConfigsResource(
        resource_type=BROKER_LOGGER_RESOURCE, resource_name=node, configs=[config]
    )


def alter(client: WireClient, *resources: AlterConfigsResource, **fields: Any) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), **fields)
    return [each.error_code for each in client.send(request, 1).responses]


def level(client: WireClient) -> str:
    resource = DescribeConfigsResource(
        resource_type=BROKER_LOGGER_RESOURCE, resource_name="1", configuration_keys=[LOGGER]
    )
    (result,) = client.send(DescribeConfigsRequest(resources=[resource]), 4).results
    found: str = result.configs[0].value
    return found


@pytest.mark.parametrize("name", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_a_level_is_set_by_kafkas_name_for_it(client: WireClient, name: str) -> None:
    assert alter(client, change(LOGGER, SET, name)) == [0]
    assert level(client) == name


def test_a_level_that_is_deleted_is_the_one_above(
    client: WireClient, logger: logging.Logger
) -> None:
    alter(client, change(LOGGER, SET, "FATAL"))
    assert logger.level == logging.CRITICAL
    assert alter(client, change(LOGGER, DELETE, None)) == [0]
    assert logger.level == logging.NOTSET


def test_what_is_only_validated_is_not_changed(client: WireClient, logger: logging.Logger) -> None:
    assert alter(client, change(LOGGER, SET, "FATAL"), validate_only=True) == [0]
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        (change(LOGGER, SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (change(LOGGER, SET, None), ErrorCode.INVALID_CONFIG),
        (change("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (change("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (change(LOGGER, APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        (change(LOGGER, SET, "INFO", node="2"), ErrorCode.INVALID_REQUEST),
        (change(LOGGER, SET, "INFO", node="x"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_odd_changes_are_refused(
    client: WireClient, resource: AlterConfigsResource, code: ErrorCode
) -> None:
    assert alter(client, resource) == [code]


def test_loggers_and_topics_in_one_request_keep_their_places(client: WireClient) -> None:
    create_topic(client, "t")
    config = AlterableConfig(name="flush.ms", config_operation=SET, value="5")
    known, unknown = (
        AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=[config])
        for name in ("t", "nowhere")
    )
    answers = alter(client, unknown, change(LOGGER, SET, "WARN"), known)
    assert answers == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0, 0]
    assert level(client) == "WARN"


def test_a_controller_changes_its_levels_too_also_one_that_is_not_active(
    broker: RunningBroker, logger: logging.Logger
) -> None:
    async def resign() -> None:
        broker.node.metadata.runtime.stop()

    with broker.connect("CONTROLLER") as controller:
        create_topic(controller, "t")
        known = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t")
        assert alter(controller, change(LOGGER, SET, "WARN"), known) == [0, 0]
        assert logger.level == logging.WARNING
        broker.call(resign())
        assert alter(controller, change(LOGGER, SET, "FATAL")) == [0]
        assert logger.level == logging.CRITICAL
        assert alter(controller, known) == [ErrorCode.NOT_CONTROLLER]


def test_nodes_in_one_process_may_have_loggers_of_their_own() -> None:
    root = logging.RootLogger(logging.WARNING)
    levels = LogLevels(logging.Manager(root))
    levels.check("1", 1, [("root", SET, "DEBUG")])
    levels.apply([("root", SET, "DEBUG")])
    assert levels.all() == {"root": "DEBUG"}
    assert logging.getLogger() is not root
    with pytest.raises(ApiError, match="does not exist"):
        levels.check("1", 1, [(LOGGER, SET, "DEBUG")])


def test_a_resource_that_the_controller_does_not_answer_has_an_error_of_its_own() -> None:
    async def decide(request: object, context: object) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse()

    handler = LoggerConfigs(1, LogLevels(), Turns(), decide)
    topic = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t")
    request = IncrementalAlterConfigsRequest(resources=[topic, change(LOGGER, SET, "WARN")])
    context: Any = None
    unanswered, answered = asyncio.run(handler.alter(request, context)).responses
    assert (unanswered.resource_type, unanswered.resource_name) == (TOPIC_RESOURCE, "t")
    assert unanswered.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert unanswered.error_message == "the controller's response leaves out this resource"
    assert answered.error_code == 0
