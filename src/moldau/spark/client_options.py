"""The options that start with ``kafka.``: settings of the client, under Kafka's own names.

This client supports some of them. Some would break the guarantees of the source, and are refused,
as in Spark. Kafka's other consumer settings tune the Java client; they are accepted without
effect, so that a query can be moved here unchanged. Any other name is most likely a typo, and is
refused.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster
from moldau.client.range_reader import FetchSettings
from moldau.client.security import PLAINTEXT, Security, is_security_setting, parse_security
from moldau.spark.errors import PipelineError

_PREFIX: Final = "kafka."
_ISOLATION_LEVELS: Final = {"read_committed": True, "read_uncommitted": False}
_DEFAULTS: Final = FetchSettings()

_REFUSED: Final = {
    "auto.offset.reset": "use startingOffsets",
    "key.deserializer": "keys are read as they are; cast them in the query",
    "value.deserializer": "values are read as they are; cast them in the query",
    "enable.auto.commit": "Spark keeps the progress; groupId shows it as a consumer group's",
    "interceptor.classes": "there is no Java here to run them",
}
# Settings of Kafka's consumer that do not apply to this client.
_WITHOUT_EFFECT: Final = frozenset(
    (
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.include.jmx.reporter",
        "check.crcs",
        "client.dns.lookup",
        "client.rack",
        "config.providers",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "security.providers",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    )
)


class ClientOptions(NamedTuple):
    """How to reach the cluster, and how to read from it."""

    bootstrap: str
    client_id: str = "moldau-spark"
    timeout_s: float = 30.0
    fetch: FetchSettings = _DEFAULTS
    security: Security = PLAINTEXT

    def cluster(self) -> Cluster:
        """The cluster, without any connection yet."""
        return Cluster(
            self.bootstrap,
            client_id=self.client_id,
            timeout_s=self.timeout_s,
            security=self.security,
        )


def parse_client_options(
    options: Mapping[str, str], *, check_bootstrap: Callable[[str], object]
) -> ClientOptions:
    """Parse and check the options that start with ``kafka.``.

    Raises:
        PipelineError: one is missing, unknown, invalid, or not supported.
    """
    settings = client_settings(options)
    connecting = take_connecting(settings, check_bootstrap)
    isolation = settings.pop("isolation.level", "read_committed")
    if isolation not in _ISOLATION_LEVELS:
        raise PipelineError(
            f"option kafka.isolation.level={isolation}: read_committed or read_uncommitted"
        )
    fetch = FetchSettings(
        read_committed=_ISOLATION_LEVELS[isolation],
        min_bytes=take_number(settings, "fetch.min.bytes", _DEFAULTS.min_bytes),
        max_bytes=take_number(settings, "max.partition.fetch.bytes", _DEFAULTS.max_bytes),
        max_wait_ms=take_number(settings, "fetch.max.wait.ms", _DEFAULTS.max_wait_ms),
    )
    check_rest(settings, _REFUSED, _WITHOUT_EFFECT, "consumer")
    return connecting._replace(fetch=fetch)


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The options that start with ``kafka.``, without that prefix."""
    return {
        name.lower().removeprefix(_PREFIX): value
        for name, value in options.items()
        if name.lower().startswith(_PREFIX)
    }


def take_connecting(
    settings: dict[str, str], check_bootstrap: Callable[[str], object]
) -> ClientOptions:
    """Remove the connection settings from ``settings`` and return them."""
    bootstrap = settings.pop("bootstrap.servers", "").strip()
    if not bootstrap:
        raise PipelineError(
            "option kafka.bootstrap.servers is missing: write host:port, as in localhost:9092"
        )
    try:
        check_bootstrap(bootstrap)
    except ValueError as error:
        raise PipelineError(f"option kafka.bootstrap.servers: {error}") from None
    security = _take_security(settings)
    client_id = settings.pop("client.id", ClientOptions._field_defaults["client_id"])
    timeout_ms = take_number(settings, "request.timeout.ms", 30_000)
    return ClientOptions(bootstrap, client_id, timeout_ms / 1000, security=security)


def _take_security(settings: dict[str, str]) -> Security:
    """Remove and parse the TLS and SASL settings; errors must not contain secrets."""
    taken = {name: settings.pop(name) for name in list(settings) if is_security_setting(name)}
    try:
        return parse_security(taken)
    except ValueError as error:
        raise PipelineError(f"option kafka.{error}") from None


def take_number(settings: dict[str, str], name: str, default: int) -> int:
    """Remove a setting that is a number above 0, and return it."""
    text = settings.pop(name, str(default))
    if not text.strip().isdigit() or int(text) == 0:
        raise PipelineError(f"option kafka.{name}={text}: a number above 0 is expected")
    return int(text)


def check_rest(
    settings: Mapping[str, str],
    refused: Mapping[str, str],
    without_effect: Collection[str],
    client: str,
) -> None:
    """Refuse the ``refused`` settings, and those that Kafka's ``client`` does not have."""
    for name in sorted(settings):
        if name in refused:
            raise PipelineError(f"option kafka.{name} cannot be set: {refused[name]}")
        if name not in without_effect:
            raise PipelineError(
                f"there is no option kafka.{name}: Kafka's {client} has no such setting"
            )
