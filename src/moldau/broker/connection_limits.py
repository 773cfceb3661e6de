"""The limits of the socket server, from the settings and from the metadata.

Most are broker settings, including dynamic ones. The connection rate of an IP address is a client
quota of the entity ``ip``, and so part of the metadata.
"""

from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.metadata.image import MetadataImage
from moldau.network.limits import UNLIMITED, ServerLimits
from moldau.network.rate import RateWindow

IP_ENTITY: Final = "ip"
CONNECTION_RATE: Final = "connection_creation_rate"


def server_limits(config: BrokerConfig, image: MetadataImage) -> ServerLimits:
    """The current limits. Buffer sizes are included only if they are set."""
    given = config.originals

    def chosen(name: str, value: int) -> int:
        return value if name in given else -1

    ip_rates = _ip_rates(image)
    return ServerLimits(
        request_max_bytes=config.socket_request_max_bytes,
        max_idle_ms=config.connections_max_idle_ms,
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        max_connections_per_ip_overrides=config.connection_overrides,
        listener_max_connections=config.listener_max_connections,
        max_connection_rate=config.max_connection_creation_rate,
        listener_connection_rates=config.listener_connection_rates,
        default_ip_connection_rate=ip_rates.pop(None, UNLIMITED),
        ip_connection_rates={ip: rate for ip, rate in ip_rates.items() if ip is not None},
        rate_window=RateWindow(config.quota_window_num, config.quota_window_size_seconds * 1000),
        inter_broker_listener=config.inter_broker_listener_name,
        send_buffer_bytes=chosen("socket.send.buffer.bytes", config.socket_send_buffer_bytes),
        receive_buffer_bytes=chosen(
            "socket.receive.buffer.bytes", config.socket_receive_buffer_bytes
        ),
        listen_backlog=config.socket_listen_backlog_size,
    )


def _ip_rates(image: MetadataImage) -> dict[str | None, float]:
    """Connections per second by address; None is the default for all others."""
    rates: dict[str | None, float] = {}
    for entity, quotas in image.client_quotas.items():
        kind, name = entity[0]
        if kind == IP_ENTITY and CONNECTION_RATE in quotas:
            rates[name] = quotas[CONNECTION_RATE]
    return rates
