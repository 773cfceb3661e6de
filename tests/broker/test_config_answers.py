"""The bytes of a DescribeConfigs response that is encoded resource by resource."""

import pytest

from moldau.broker.dispatch import answer_too_large
from moldau.broker.handlers.config_answers import ConfigAnswer, encode_settings
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

VERSIONS = range(DescribeConfigsResponse.MIN_VERSION, DescribeConfigsResponse.MAX_VERSION + 1)


def settings(number: int) -> list[DescribeConfigsResourceResult]:
    """Settings without the fields that version 1 lacks."""
    return [
        DescribeConfigsResourceResult(
            name=f"setting.{each}",
            value="x" * 40,
            config_source=5,
            synonyms=[DescribeConfigsSynonym(name="default", value=None, source=4)],
        )
        for each in range(number)
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", [0, 1, 100])
def test_the_bytes_are_those_of_the_response_class(version: int, number: int) -> None:
    answer = ConfigAnswer(version)
    error = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
    encoded = encode_settings(settings(number), version)
    answer.add(2, "first", encoded)
    answer.add_error(2, "second", error)
    answer.add(2, "third", encoded)
    whole = DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(resource_type=2, resource_name="first", configs=settings(number)),
            DescribeConfigsResult(error.code, error.message, 2, "second"),
            DescribeConfigsResult(resource_type=2, resource_name="third", configs=settings(number)),
        ]
    )
    parts = answer.encode_parts(b"prefix", version)
    assert b"".join(map(bytes, parts)) == b"prefix" + whole.encode(version)


def test_large_settings_of_many_resources_are_in_memory_once() -> None:
    answer = ConfigAnswer(4)
    encoded = encode_settings(settings(100), 4)
    for number in range(50):
        answer.add(2, f"topic-{number}", encoded)
    assert sum(part is encoded for part in answer.encode_parts(b"", 4)) == 50


def test_what_would_exceed_the_bound_is_refused_and_so_is_the_rest() -> None:
    encoded = encode_settings(settings(100), 4)
    answer = ConfigAnswer(4, max_bytes=2 * len(encoded))
    answer.add(2, "first", encoded)
    answer.add(2, "second", encoded)
    answer.check_room()
    with pytest.raises(ApiError, match=str(answer_too_large())):
        answer.add(2, "third", encoded)
    with pytest.raises(ApiError, match="ask for fewer at a time"):
        answer.check_room()
