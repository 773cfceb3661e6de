"""The settings of a connector's clients, from the worker's properties and the connector's config.

The worker's connection settings hold for all clients; settings with the prefix of a client
(``consumer.``, ``producer.``, ``admin.``) override them, and a connector overrides those with
``consumer.override.`` and so on (KIP-458).
"""

from collections.abc import Mapping
from typing import Final

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster
from moldau.client.producer import Producer
from moldau.client.security import is_security_setting, parse_security
from moldau.connect.engine_api import ConnectorSpec
from moldau.spark.sink_options import SinkOptions, parse_sink_options

BOOTSTRAP: Final = "bootstrap.servers"
# Settings that Connect itself decides about: a file for Apache's worker may have them.
_OWN: Final = (
    "auto.offset.reset",
    "enable.auto.commit",
    "group.id",
    "interceptor.classes",
    "key.deserializer",
    "key.serializer",
    "transactional.id",
    "value.deserializer",
    "value.serializer",
)
_DEFAULT_RESET: Final = "earliest"


def client_settings(spec: ConnectorSpec, client: str) -> dict[str, str]:
    """All settings of ``client`` (consumer, producer or admin), under Kafka's names."""
    worker = spec.worker
    settings = {name: worker[name] for name in worker if is_connecting(name)}
    settings |= _with_prefix(worker, f"{client}.")
    return settings | _with_prefix(spec.config, f"{client}.override.")


def connection_settings(spec: ConnectorSpec, client: str) -> dict[str, str]:
    """How ``client`` reaches the brokers: where they are, TLS and SASL."""
    settings = client_settings(spec, client)
    return {name: value for name, value in settings.items() if is_connecting(name)}


def is_connecting(name: str) -> bool:
    """Whether all clients share this setting of the worker."""
    return name == BOOTSTRAP or is_security_setting(name)


def spark_options(spec: ConnectorSpec, client: str) -> dict[str, str]:
    """The options of ``format("moldau")`` for ``client``."""
    settings = client_settings(spec, client)
    return {f"kafka.{name}": value for name, value in settings.items() if name not in _OWN}


def write_options(spec: ConnectorSpec) -> SinkOptions:
    """How a source writes to topics; rows have a column for the topic."""
    return parse_sink_options({**spark_options(spec, "producer"), "includeHeaders": "true"})


def group_of(spec: ConnectorSpec) -> str:
    """The group in which a sink's progress is committed."""
    return spec.config.get("consumer.override.group.id", f"connect-{spec.name}")


def offset_reset(spec: ConnectorSpec) -> str:
    """Where a sink starts on a partition without progress: earliest, latest or none."""
    return client_settings(spec, "consumer").get("auto.offset.reset", _DEFAULT_RESET).lower()


def reads_committed(spec: ConnectorSpec) -> bool:
    """Whether a sink reads only records of committed transactions: by default."""
    settings = client_settings(spec, "consumer")
    return settings.get("isolation.level", "read_committed") == "read_committed"


def new_cluster(spec: ConnectorSpec, client: str) -> Cluster:
    settings = client_settings(spec, client)
    return Cluster(
        settings[BOOTSTRAP],
        client_id=f"connector-{client}-{spec.name}-0",
        security=parse_security(settings),
    )


def new_admin(spec: ConnectorSpec) -> Admin:
    settings = client_settings(spec, "admin")
    return Admin(
        settings[BOOTSTRAP],
        client_id=f"connector-adminclient-{spec.name}-0",
        security=parse_security(settings),
    )


def new_dead_letter_producer(spec: ConnectorSpec) -> Producer:
    settings = client_settings(spec, "producer")
    return Producer(
        settings[BOOTSTRAP],
        client_id=f"connector-dlq-producer-{spec.name}-0",
        security=parse_security(settings),
    )


def _with_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix) and not name.startswith(f"{prefix}override.")
    }
