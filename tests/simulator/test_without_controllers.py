"""What brokers tell clients while no controller can create what they ask for."""

from collections.abc import Iterator

import pytest

from moldau.broker.handlers.find_coordinator import FIRST_BATCHED_VERSION
from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.simulator.scenes import Scene, scene

# Brokers look for a controller for a minute.
LIMIT_S = 100


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr("moldau.simulator.clients.cluster.REQUEST_TIMEOUT_MS", LIMIT_S * 1000)
    with scene("separate") as made:
        made.run_for(2.0)
        made.create_topic("known")
        for node_id in made.cluster.topology.controllers:
            made.machine(node_id).kill()
        yield made


@pytest.mark.parametrize("version", [3, 6])
def test_a_coordinator_is_not_available(stage: Scene, version: int) -> None:
    request = FindCoordinatorRequest(key="name")
    if version >= FIRST_BATCHED_VERSION:
        request = FindCoordinatorRequest(coordinator_keys=["a", "b"])
    client = stage.client()
    asking = client.send(client.any_node(), request, FindCoordinatorResponse, version)
    response = stage.ask(asking, client, LIMIT_S)
    found = response.coordinators or [response]
    assert len(found) == (2 if version >= FIRST_BATCHED_VERSION else 1)
    assert {each.error_code for each in found} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert "active controller" in (found[0].error_message or "")


def test_existing_topics_are_shown_and_the_others_are_unknown(stage: Scene) -> None:
    wanted = [MetadataRequestTopic(name=name) for name in ("known", "new")]
    client = stage.client()
    asking = client.send(client.any_node(), MetadataRequest(topics=wanted), MetadataResponse, 12)
    response = stage.ask(asking, client, LIMIT_S)
    codes = {topic.name: topic.error_code for topic in response.topics}
    assert codes == {"known": 0, "new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert response.brokers
