"""SASL, ACLs and delegation tokens, for a broker without security.

By the error, clients and tools distinguish "not configured" from "not supported". So each response
is that of Apache Kafka with PLAINTEXT listeners and without an authorizer.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ErrorCode
from moldau.network.turns import Steps
from moldau.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from moldau.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from moldau.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from moldau.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from moldau.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from moldau.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from moldau.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from moldau.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

NO_AUTHORIZER: Final = "No Authorizer is configured."
# Tokens are for authenticated clients only, and clients of a PLAINTEXT listener are not.
NO_TOKENS: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
FIRST_VERSION_WITH_REQUESTER: Final = 3
NEVER: Final = -1


def sasl_handshake(
    request: SaslHandshakeRequest, context: "RequestContext"
) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def sasl_authenticate(
    request: SaslAuthenticateRequest, context: "RequestContext"
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message=f"listener {context.session.listener} does not authenticate with SASL",
    )


def describe_acls(request: DescribeAclsRequest, context: "RequestContext") -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker",
    )


def create_acls(
    request: CreateAclsRequest, context: "RequestContext"
) -> CreateAclsResponse | Awaitable[CreateAclsResponse]:
    return context.in_turns(_creations_refused(request))


def _creations_refused(request: CreateAclsRequest) -> Steps[CreateAclsResponse]:
    response = CreateAclsResponse()
    for _ in request.creations:
        response.results.append(
            AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
        )
        yield
    return response


def delete_acls(
    request: DeleteAclsRequest, context: "RequestContext"
) -> DeleteAclsResponse | Awaitable[DeleteAclsResponse]:
    return context.in_turns(_deletions_refused(request))


def _deletions_refused(request: DeleteAclsRequest) -> Steps[DeleteAclsResponse]:
    response = DeleteAclsResponse()
    for _ in request.filters:
        response.filter_results.append(
            DeleteAclsFilterResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER
            )
        )
        yield
    return response


def create_token(
    request: CreateDelegationTokenRequest, context: "RequestContext"
) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(
        error_code=NO_TOKENS,
        principal_type="User",
        principal_name="ANONYMOUS",
        issue_timestamp_ms=NEVER,
        expiry_timestamp_ms=NEVER,
        max_timestamp_ms=NEVER,
    )
    if context.api_version >= FIRST_VERSION_WITH_REQUESTER:
        response.token_requester_principal_type = "User"
        response.token_requester_principal_name = "ANONYMOUS"
    return response


def renew_token(
    request: RenewDelegationTokenRequest, context: "RequestContext"
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=NO_TOKENS, expiry_timestamp_ms=NEVER)


def expire_token(
    request: ExpireDelegationTokenRequest, context: "RequestContext"
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=NO_TOKENS, expiry_timestamp_ms=NEVER)


def describe_tokens(
    request: DescribeDelegationTokenRequest, context: "RequestContext"
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=NO_TOKENS)
