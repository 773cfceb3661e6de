"""Client metrics (KIP-714), for a broker without a metrics receiver.

Such a broker does not advertise these APIs. A client that uses them anyway gets an empty
subscription, and the metrics that it pushes are dropped.
"""

import random
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.errors import ErrorCode
from moldau.ids import NO_UUID, new_uuid
from moldau.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from moldau.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from moldau.record.checksum import crc32c

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# zstd, lz4, gzip, snappy, in order of preference.
COMPRESSION_TYPES: Final = (4, 3, 1, 2)
PUSH_INTERVAL_MS: Final = 300_000


class Telemetry:
    """The APIs of client metrics."""

    def __init__(
        self,
        configs: DynamicConfig,
        rng: random.Random,
    ) -> None:
        self._configs = configs
        self._rng = rng

    def get_subscriptions(
        self, request: GetTelemetrySubscriptionsRequest, context: "RequestContext"
    ) -> GetTelemetrySubscriptionsResponse:
        instance_id = request.client_instance_id
        if instance_id == NO_UUID:
            instance_id = new_uuid(self._rng)
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=_subscription_id(instance_id),
            accepted_compression_types=list(COMPRESSION_TYPES),
            push_interval_ms=PUSH_INTERVAL_MS,
            telemetry_max_bytes=self._configs.broker.telemetry_max_bytes,
            delta_temporality=True,
            requested_metrics=[],
        )

    def push(
        self, request: PushTelemetryRequest, context: "RequestContext"
    ) -> PushTelemetryResponse:
        response = PushTelemetryResponse()
        if request.client_instance_id == NO_UUID:
            response.error_code = ErrorCode.INVALID_REQUEST
        elif request.subscription_id != _subscription_id(request.client_instance_id):
            response.error_code = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        elif len(request.metrics) > self._configs.broker.telemetry_max_bytes:
            response.error_code = ErrorCode.TELEMETRY_TOO_LARGE
        return response


def _subscription_id(instance_id: bytes) -> int:
    """The id of the empty subscription: the same on every broker."""
    return crc32c(instance_id) & 0x7FFFFFFF
