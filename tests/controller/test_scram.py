"""SCRAM credentials: what is stored, what is refused, what can be described."""

import base64

from moldau.controller.outcome import decided
from moldau.controller.scram import alter_user_scram_credentials, describe_user_scram_credentials
from moldau.errors import ErrorCode
from moldau.metadata.image import MetadataImage, ScramCredential
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    UserName,
)
from moldau.protocol.records.metadata import RemoveUserScramCredentialRecord

SHA_256, SHA_512 = 1, 2
# The example of RFC 7677: user "user", password "pencil".
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SALTED_PASSWORD = base64.b64decode("xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0=")
IMAGE = MetadataImage(
    features={"metadata.version": 30},
    scram={
        (SHA_256, "anna"): ScramCredential(b"s", b"k", b"v", 8192),
        (SHA_512, "anna"): ScramCredential(b"s", b"k", b"v", 4096),
    },
)


def upsertion(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> object:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=SALT,
        salted_password=SALTED_PASSWORD,
    )


def codes(*upsertions: object, deletions: tuple[object, ...] = ()) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(
        upsertions=list(upsertions),  # type: ignore[arg-type]
        deletions=list(deletions),  # type: ignore[arg-type]
    )
    outcome = decided(alter_user_scram_credentials(IMAGE, request))
    succeeded = [each for each in outcome.response.results if each.error_code == 0]
    assert len(outcome.records) == len(succeeded)
    return {each.user: each.error_code for each in outcome.response.results}


def test_credentials_need_a_metadata_version_whose_nodes_can_read_them() -> None:
    image = IMAGE._replace(features={"metadata.version": 10})
    request = AlterUserScramCredentialsRequest(
        upsertions=[upsertion("user"), upsertion("twice"), upsertion("twice")],  # type: ignore[list-item]
        deletions=[ScramCredentialDeletion("anna", SHA_256)],
    )
    outcome = decided(alter_user_scram_credentials(image, request))
    assert outcome.records == []
    assert {each.user: each.error_code for each in outcome.response.results} == {
        "anna": ErrorCode.UNSUPPORTED_VERSION,
        "user": ErrorCode.UNSUPPORTED_VERSION,
        "twice": ErrorCode.UNSUPPORTED_VERSION,
    }


def test_keys_are_derived_as_rfc_7677_has_it() -> None:
    request = AlterUserScramCredentialsRequest(upsertions=[upsertion("user")])  # type: ignore[list-item]
    (record,) = decided(alter_user_scram_credentials(IMAGE, request)).records
    server_key = base64.b64encode(record.server_key)  # type: ignore[attr-defined]
    stored_key = base64.b64encode(record.stored_key)  # type: ignore[attr-defined]
    assert server_key == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert stored_key == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="


def test_what_cannot_be_kept_is_refused_with_its_reason() -> None:
    assert codes(
        upsertion("fine", SHA_512, 16384),
        upsertion(""),
        upsertion("little", iterations=4095),
        upsertion("much", iterations=16385),
        upsertion("odd", mechanism=3),
        upsertion("twice"),
        upsertion("twice", SHA_512),
        deletions=(ScramCredentialDeletion(name="nobody", mechanism=SHA_256),),
    ) == {
        "fine": 0,
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "little": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "much": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "odd": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
    }


def test_a_credential_is_removed_by_its_mechanism() -> None:
    deletion = ScramCredentialDeletion(name="anna", mechanism=SHA_512)
    deciding = alter_user_scram_credentials(
        IMAGE, AlterUserScramCredentialsRequest(deletions=[deletion])
    )
    outcome = decided(deciding)
    assert outcome.records == [RemoveUserScramCredentialRecord(name="anna", mechanism=SHA_512)]


def test_all_users_or_those_named_are_described() -> None:
    everybody = DescribeUserScramCredentialsRequest(users=None)
    (anna,) = decided(describe_user_scram_credentials(IMAGE, everybody)).results
    assert (anna.user, anna.credential_infos) == (
        "anna",
        [CredentialInfo(SHA_256, 8192), CredentialInfo(SHA_512, 4096)],
    )
    users = [UserName(name=name) for name in ("bob", "anna", "anna")]
    request = DescribeUserScramCredentialsRequest(users=users)
    named = decided(describe_user_scram_credentials(IMAGE, request))
    assert [(each.user, each.error_code) for each in named.results] == [
        ("bob", ErrorCode.RESOURCE_NOT_FOUND),
        ("anna", ErrorCode.DUPLICATE_RESOURCE),
    ]
