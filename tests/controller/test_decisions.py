"""One way in for every request that the controller decides."""

import contextlib

import pytest

from moldau.controller.context import DecisionContext
from moldau.controller.controller import Controller
from moldau.controller.decisions import DECISIONS
from moldau.controller.outcome import decided
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.controller.cluster import Cluster, topic


def test_every_decision_is_an_api_of_controllers() -> None:
    for key in DECISIONS:
        assert "controller" in APIS[key].listeners, APIS[key].name
        assert Controller.handles(key)
    assert not Controller.handles(0)


@pytest.mark.parametrize("key", sorted(DECISIONS), ids=lambda key: APIS[key].name)
def test_an_empty_request_of_any_version_is_answered_with_its_response(key: int) -> None:
    api = APIS[key]
    for version in range(api.min_version, api.max_version + 1):
        cluster = Cluster(1)
        with contextlib.suppress(ApiError):
            response = cluster.decide(api.request_class()(), version)
            assert isinstance(response, api.response_class())
            assert response.encode(version)


def test_a_controller_that_is_not_active_decides_nothing() -> None:
    cluster = Cluster(1)
    cluster.controller.resigned()
    with pytest.raises(ApiError) as caught:
        cluster.decide(CreateTopicsRequest())
    assert caught.value.code == ErrorCode.NOT_CONTROLLER
    with pytest.raises(ApiError) as caught:
        cluster.upkeep()
    assert caught.value.code == ErrorCode.NOT_CONTROLLER


def test_a_decision_sees_the_ones_before_it() -> None:
    cluster = Cluster(1)
    request = CreateTopicsRequest(topics=[topic("river")])
    assert [each.error_code for each in cluster.decide(request).topics] == [0]
    again = cluster.decide(request)
    assert [each.error_code for each in again.topics] == [ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_decision_that_is_not_written_changes_nothing() -> None:
    cluster = Cluster(1)
    before = cluster.image
    request = CreateTopicsRequest(topics=[topic("river", 10)])
    steps = cluster.controller.decide(request, 7, DecisionContext(), 0)
    next(steps)
    steps.close()
    decided(cluster.controller.decide(request, 7, DecisionContext(), 0))
    assert cluster.image is before


def test_a_broker_accepts_its_own_settings_and_a_controller_those_of_any_broker() -> None:
    cluster = Cluster(2)
    resource = AlterConfigsResource(
        resource_type=4,
        resource_name="2",
        configs=[AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2")],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    codes = []
    for received_by in (2, 1, -1):
        context = DecisionContext(received_by=received_by)
        outcome = decided(cluster.controller.decide(request, 1, context, 0))
        codes.append(outcome.response.responses[0].error_code)
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
