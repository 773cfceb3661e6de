"""Changes of settings and quotas change the limits on connections at run time."""

from moldau.broker.connection_limits import server_limits
from moldau.config.broker import BrokerConfig
from moldau.metadata.image import BROKER_RESOURCE, EMPTY_IMAGE
from moldau.network.limits import UNLIMITED
from moldau.network.rate import RateWindow
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.records.metadata import ClientQuotaRecord, EntityData
from tests.running import RunningBroker, WireClient


def test_limits_are_the_settings() -> None:
    config = BrokerConfig.from_properties(
        {
            "max.connections": "11",
            "max.connection.creation.rate": "12",
            "listener.name.plaintext.max.connections": "13",
            "listener.name.plaintext.max.connection.creation.rate": "14",
            "quota.window.num": "3",
            "quota.window.size.seconds": "2",
        }
    )
    limits = server_limits(config, EMPTY_IMAGE)
    assert (limits.max_connections, limits.max_connection_rate) == (11, 12)
    assert limits.listener_max_connections == {"PLAINTEXT": 13}
    assert limits.listener_connection_rates == {"PLAINTEXT": 14}
    assert limits.rate_window == RateWindow(samples=3, sample_ms=2000)
    assert limits.default_ip_connection_rate == UNLIMITED


def test_rates_of_addresses_are_quotas_of_the_entity_ip() -> None:
    image = EMPTY_IMAGE._replace(
        client_quotas={
            (("ip", None),): {"connection_creation_rate": 5.0},
            (("ip", "192.0.2.1"),): {"connection_creation_rate": 6.0},
            (("user", "192.0.2.2"),): {"producer_byte_rate": 7.0},
        }
    )
    limits = server_limits(BrokerConfig.from_properties({}), image)
    assert limits.default_ip_connection_rate == 5.0
    assert limits.ip_connection_rates == {"192.0.2.1": 6.0}


def set_for_all(client: WireClient, name: str, value: str) -> None:
    change = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(
        resource_type=BROKER_RESOURCE, resource_name="", configs=[change]
    )
    response = client.send(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert response.responses[0].error_code == 0


def test_a_limit_changed_while_running_holds_for_the_next_connection(
    broker: RunningBroker, client: WireClient
) -> None:
    set_for_all(client, "max.connections.per.ip", "1")
    with broker.connect() as refused:
        assert refused.is_closed_by_peer()
    set_for_all(client, "max.connections.per.ip", "2")
    with broker.connect() as welcome:
        assert welcome.send(ApiVersionsRequest(), 0).error_code == 0


def test_a_quota_of_an_address_turns_away_what_comes_too_fast(
    broker: RunningBroker, client: WireClient
) -> None:
    """One per second allows ten immediately, because ten idle seconds are assumed."""
    quota = ClientQuotaRecord(
        entity=[EntityData(entity_type="ip", entity_name="127.0.0.1")],
        key="connection_creation_rate",
        value=1.0,
    )
    broker.call(broker.node.metadata.runtime.append([quota]))
    connections = [broker.connect() for _ in range(12)]
    assert connections[0].send(ApiVersionsRequest(), 0).error_code == 0
    assert connections[-1].is_closed_by_peer()
    for each in connections:
        each.close()
