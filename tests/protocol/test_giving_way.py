"""The number of elements that are decoded can be limited; numbers have a higher limit."""

from typing import Any

import pytest

from moldau.protocol.giving_way import NUMBERS_PER_ELEMENT, RUN_ELEMENTS, with_elements_max
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.reading import LONG_RUN, MalformedMessage

MAX = 4 * RUN_ELEMENTS


def decoded(request: Any, version: int) -> Any:
    data = request.encode(version)
    return with_elements_max(MAX, type(request).decode, data, 0, version)[0]


def names(count: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=["ab"] * count)


def protocols(count: int) -> JoinGroupRequest:
    return JoinGroupRequest("g", protocols=[JoinGroupRequestProtocol("ab", b"")] * count)


def test_a_run_is_as_long_as_the_loops_make_it() -> None:
    assert RUN_ELEMENTS == LONG_RUN + 1


@pytest.mark.parametrize("version", [4, 5])
def test_names_are_counted(version: int) -> None:
    assert len(decoded(names(MAX), version).groups) == MAX
    with pytest.raises(MalformedMessage, match="too many elements"):
        decoded(names(MAX + RUN_ELEMENTS), version)


@pytest.mark.parametrize("version", [5, 9])
def test_structs_are_counted(version: int) -> None:
    with pytest.raises(MalformedMessage, match="too many elements"):
        decoded(protocols(MAX + RUN_ELEMENTS), version)
    assert len(decoded(protocols(MAX), version).protocols) == MAX


def test_there_may_be_more_numbers_but_not_any_number_of_them() -> None:
    numbers = list(range(3 * MAX))
    request = DescribeLogDirsRequest(topics=[DescribableLogDirTopic("t", numbers)])
    assert decoded(request, 4).topics[0].partitions == numbers
    numbers.extend(range((NUMBERS_PER_ELEMENT - 2) * MAX))
    with pytest.raises(MalformedMessage, match="too many numbers"):
        decoded(request, 4)


def test_nothing_is_counted_without_a_limit() -> None:
    decoded(names(1), 5)
    data = names(3 * MAX).encode(5)
    assert len(DescribeGroupsRequest.decode(data, 0, 5)[0].groups) == 3 * MAX
