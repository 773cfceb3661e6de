"""A request that failed as a whole gets its error with every item, in every version."""

import random

import pytest

from moldau.broker.dispatch import ERROR_PER_ITEM_KEYS, Handler
from moldau.broker.refusals import refusal
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.message import Message, Struct
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.protocol.random_messages import random_message

ERROR = ApiError(ErrorCode.NOT_CONTROLLER, "node 1 is not the active controller")


def codes_in(struct: object) -> list[int]:
    """Every error code in a response, at any depth."""
    found = []
    for name in struct.FIELDS if isinstance(struct, Struct) else ():
        value = getattr(struct, name)
        if name == "error_code":
            found.append(int(value))
        for item in value if isinstance(value, list) else ():
            found.extend(codes_in(item))
    return found


@pytest.mark.parametrize("key", sorted(ERROR_PER_ITEM_KEYS))
def test_every_item_has_the_error_and_the_response_can_be_encoded(key: int) -> None:
    api = APIS[key]
    rng = random.Random(key)
    for version in range(api.min_version, api.max_version + 1):
        request = random_message(f"{api.name}Request", version, rng)
        response = refusal(key, request, version, ERROR)
        encoded = response.encode(version)
        decoded = api.response_class().decode(encoded, 0, version)[0]
        codes = codes_in(decoded)
        if (key, version) == (43, 0):
            assert codes.pop(0) == 0, "this version has no error of the whole"
        assert codes == [ErrorCode.NOT_CONTROLLER] * len(codes)


def test_leaders_of_all_partitions_are_refused_at_the_top() -> None:
    response = refusal(43, ElectLeadersRequest(topic_partitions=None), 2, ERROR)
    assert codes_in(response) == [ErrorCode.NOT_CONTROLLER]
    named = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0, 2])])
    assert codes_in(refusal(43, named, 2, ERROR)) == [ErrorCode.NOT_CONTROLLER] * 3


def test_a_user_who_is_named_twice_is_answered_once() -> None:
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion("b"), ScramCredentialDeletion("a")],
        upsertions=[ScramCredentialUpsertion("b")],
    )
    response = refusal(51, request, 0, ERROR)
    assert [each.user for each in response.results] == ["a", "b"]  # type: ignore[attr-defined]


def test_handlers_use_them() -> None:
    def handle(request: object, context: object) -> Message:
        raise ERROR

    handler = Handler("CreateTopics", 19, handle)
    request = APIS[19].request_class()()
    assert handler.error_response(ERROR, request, 7) == refusal(19, request, 7, ERROR)
