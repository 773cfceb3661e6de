"""The options that start with ``kafka.`` when writing: settings of Kafka's producer.

As in ``client_options``, this client supports some of them. The default ``batch.size`` is larger
than Kafka's 16 KB: the rows of a task are available at once, so nothing waits for a batch to fill.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.client.cluster import parse_bootstrap
from moldau.client.producer import CODECS
from moldau.record.compression import Codec
from moldau.spark.client_options import (
    ClientOptions,
    check_rest,
    client_settings,
    take_connecting,
    take_number,
)
from moldau.spark.errors import PipelineError

_ACKS: Final = {"all": -1, "-1": -1, "1": 1, "0": 0}
_LEVELS: Final = {Codec.GZIP: (1, 9), Codec.LZ4: (1, 17), Codec.ZSTD: (-131072, 22)}
_FLAGS: Final = {"true": True, "false": False}

_REFUSED: Final = {
    "key.serializer": "keys are written as they are; cast them in the query",
    "value.serializer": "values are written as they are; cast them in the query",
    "transactional.id": "moldau.spark.exactly_once writes in transactions, under a name of its own",
    "partitioner.class": "there is no Java here to run it; a column partition says where to",
    "partitioner.ignore.keys": "a column partition says where a record goes",
    "interceptor.classes": "there is no Java here to run them",
}
_WITHOUT_EFFECT: Final = frozenset(
    (
        "auto.include.jmx.reporter",
        "buffer.memory",
        "client.dns.lookup",
        "config.providers",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "linger.ms",
        "max.block.ms",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        # Retries are limited by time only: delivery.timeout.ms.
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "security.providers",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    )
)


class ProducerOptions(NamedTuple):
    """How records are written."""

    acks: int = -1
    is_idempotent: bool = True
    codec: int = Codec.NONE
    level: int | None = None
    batch_size: int = 262_144
    max_request_size: int = 1_048_576
    max_in_flight: int = 5
    delivery_timeout_s: float = 120.0
    # The brokers' default for transaction.max.timeout.ms: a micro-batch may be large.
    transaction_timeout_ms: int = 900_000


def parse_producer_options(options: Mapping[str, str]) -> tuple[ClientOptions, ProducerOptions]:
    """Parse and check the options that start with ``kafka.``.

    Raises:
        PipelineError: one is missing, unknown, invalid, or not supported.
    """
    settings = client_settings(options)
    client = take_connecting(settings, parse_bootstrap)
    defaults = ProducerOptions()
    acks = _one_of(settings, "acks", "all", _ACKS)
    is_idempotent = bool(_one_of(settings, "enable.idempotence", str(acks == -1).lower(), _FLAGS))
    if is_idempotent and acks != -1:
        raise PipelineError(
            "option kafka.enable.idempotence=true needs kafka.acks=all: leave out one of the two"
        )
    codec = _one_of(settings, "compression.type", "none", CODECS)
    levels = {each: _level(settings, each) for each in _LEVELS}
    producing = ProducerOptions(
        acks=acks,
        is_idempotent=is_idempotent,
        codec=codec,
        level=levels.get(Codec(codec)),
        batch_size=take_number(settings, "batch.size", defaults.batch_size),
        max_request_size=take_number(settings, "max.request.size", defaults.max_request_size),
        max_in_flight=take_number(
            settings, "max.in.flight.requests.per.connection", defaults.max_in_flight
        ),
        delivery_timeout_s=take_number(settings, "delivery.timeout.ms", 120_000) / 1000,
        transaction_timeout_ms=take_number(
            settings, "transaction.timeout.ms", defaults.transaction_timeout_ms
        ),
    )
    if is_idempotent and producing.max_in_flight > defaults.max_in_flight:
        raise PipelineError(
            f"option kafka.max.in.flight.requests.per.connection={producing.max_in_flight}: "
            "with acks=all at most 5, for brokers remember as many batches"
        )
    check_rest(settings, _REFUSED, _WITHOUT_EFFECT, "producer")
    return client, producing


def _one_of(settings: dict[str, str], name: str, default: str, values: Mapping[str, int]) -> int:
    text = settings.pop(name, default)
    value = values.get(text.strip().lower())
    if value is None:
        raise PipelineError(f"option kafka.{name}={text}: one of {', '.join(values)} is expected")
    return value


def _level(settings: dict[str, str], codec: Codec) -> int | None:
    name = f"compression.{codec.name.lower()}.level"
    text = settings.pop(name, None)
    if text is None:
        return None
    lowest, highest = _LEVELS[codec]
    if not text.strip().lstrip("-").isdigit() or not lowest <= int(text) <= highest:
        raise PipelineError(f"option kafka.{name}={text}: {lowest} to {highest} is expected")
    return int(text)
