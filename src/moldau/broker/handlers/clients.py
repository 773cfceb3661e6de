"""DescribeClientQuotas and DescribeUserScramCredentials: what the metadata says about clients."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from moldau.broker.metadata_cache import MetadataCache
from moldau.controller.quotas import describe_client_quotas
from moldau.controller.scram import describe_user_scram_credentials
from moldau.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext


class Clients:
    """Describes quotas and credentials."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata

    def quotas(
        self, request: DescribeClientQuotasRequest, context: "RequestContext"
    ) -> DescribeClientQuotasResponse | Awaitable[DescribeClientQuotasResponse]:
        return context.in_turns(describe_client_quotas(self._metadata.image, request))

    def scram_credentials(
        self, request: DescribeUserScramCredentialsRequest, context: "RequestContext"
    ) -> DescribeUserScramCredentialsResponse | Awaitable[DescribeUserScramCredentialsResponse]:
        return context.in_turns(describe_user_scram_credentials(self._metadata.image, request))
