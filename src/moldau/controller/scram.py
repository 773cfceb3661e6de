"""SCRAM credentials (KIP-554): AlterUserScramCredentials, and describing them from the image.

A client sends the salted password, never the password. The stored values are those of RFC 5802:
salt, iterations, the stored key and the server key. Clients cannot read them back. They are
stored as in Kafka, for SASL listeners, which this broker does not have yet.
"""

import hashlib
import hmac
from collections.abc import Generator
from typing import Final

from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import METADATA_3_5_IV2
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from moldau.protocol.records.metadata import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

# SCRAM-SHA-256 and SCRAM-SHA-512, by Kafka's numbers.
_DIGESTS: Final = {1: "sha256", 2: "sha512"}
_MIN_ITERATIONS: Final = 4096
_MAX_ITERATIONS: Final = 16384

Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter_user_scram_credentials(
    image: MetadataImage, request: AlterUserScramCredentialsRequest
) -> Deciding[AlterUserScramCredentialsResponse]:
    """Set and remove credentials; users are independent and may be named once."""
    changes: dict[str, list[Change]] = {}
    asked: list[Change] = [*request.deletions, *request.upsertions]
    for change in asked:
        changes.setdefault(change.name, []).append(change)
        yield
    records: list[Message] = []
    results = []
    for user, wanted in changes.items():
        result = AlterUserScramCredentialsResult(user=user, error_message=None)
        try:
            if image.metadata_version < METADATA_3_5_IV2:
                message = "The current metadata.version does not support SCRAM"
                raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
            if len(wanted) > 1:
                message = "A user credential cannot be altered twice in the same request"
                raise ApiError(ErrorCode.DUPLICATE_RESOURCE, message)
            check_record_count(len(records) + 1)
            records.append(_record(image, wanted[0]))
        except ApiError as error:
            result.error_code = error.code
            result.error_message = error.message
        results.append(result)
        yield
    return Outcome(records, AlterUserScramCredentialsResponse(results=results))


def _record(image: MetadataImage, change: Change) -> Message:
    if not change.name:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    digest = _DIGESTS.get(change.mechanism)
    if digest is None:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        if (change.mechanism, change.name) not in image.scram:
            message = "Attempt to delete a user credential that does not exist"
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, message)
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    if change.iterations < _MIN_ITERATIONS:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > _MAX_ITERATIONS:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    client_key = hmac.digest(change.salted_password, b"Client Key", digest)
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=change.mechanism,
        salt=change.salt,
        stored_key=hashlib.new(digest, client_key).digest(),
        server_key=hmac.digest(change.salted_password, b"Server Key", digest),
        iterations=change.iterations,
    )


def describe_user_scram_credentials(
    image: MetadataImage, request: DescribeUserScramCredentialsRequest
) -> Generator[None, None, DescribeUserScramCredentialsResponse]:
    """The mechanisms and iterations of the named users, or of all; no secrets. A user is a step."""
    times: dict[str, int] = {}
    for named in request.users or ():
        times[named.name] = times.get(named.name, 0) + 1
        yield
    if not times:
        times = dict.fromkeys(sorted({user for _, user in image.scram}), 1)
    response = DescribeUserScramCredentialsResponse()
    for name, count in times.items():
        response.results.append(_described(image, name, count))
        yield
    return response


def _described(
    image: MetadataImage, user: str, times_named: int
) -> DescribeUserScramCredentialsResult:
    if times_named > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message="Cannot describe SCRAM credentials for the same user twice in a "
            f"single request: {user}",
        )
    found = [
        CredentialInfo(mechanism=mechanism, iterations=image.scram[mechanism, user].iterations)
        for mechanism in _DIGESTS
        if (mechanism, user) in image.scram
    ]
    if not found:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=found)
