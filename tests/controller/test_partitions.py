"""CreatePartitions."""

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.controller.cluster import Cluster


def grow(
    name: str, count: int, assignments: list[list[int]] | None = None
) -> CreatePartitionsTopic:
    wanted = None
    if assignments is not None:
        wanted = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=wanted)


def ask(
    cluster: Cluster, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[tuple[str, int, str]]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    outcome = cluster.controller.create_partitions(request)
    cluster.commit(outcome.records)
    return [
        (each.name, each.error_code, each.error_message or "") for each in outcome.response.results
    ]


def test_a_topic_grows_at_its_end() -> None:
    cluster = Cluster(3)
    cluster.must_create("river", 2, 3)
    assert ask(cluster, grow("river", 4)) == [("river", 0, "")]
    partitions = cluster.image.topics_by_name["river"].partitions
    assert list(partitions) == [0, 1, 2, 3]
    assert sorted(partitions[3].replicas) == [1, 2, 3]


def test_validate_only_leaves_the_topic_as_it_is() -> None:
    cluster = Cluster()
    cluster.must_create("river")
    assert ask(cluster, grow("river", 4), validate_only=True) == [("river", 0, "")]
    assert len(cluster.image.topics_by_name["river"].partitions) == 1


def test_new_partitions_go_where_the_client_says() -> None:
    cluster = Cluster(2)
    cluster.must_create("river")
    assert ask(cluster, grow("river", 3, [[2], [1]])) == [("river", 0, "")]
    partitions = cluster.image.topics_by_name["river"].partitions
    assert [partitions[index].replicas for index in (1, 2)] == [(2,), (1,)]


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (grow("lake", 2), 3, ""),
        (grow("river", 2), 37, "Topic already has 2 partition(s)."),
        (
            grow("river", 1),
            37,
            "The topic river currently has 2 partition(s); 1 would not be an increase.",
        ),
        (grow("river", -5), 37, "-5 would not be an increase."),
        (grow("river", 2_000_000_000), 44, "excessively large"),
        (
            grow("river", 4, [[1]]),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s)",
        ),
        (grow("river", 3, [[1, 1]]), 39, "more than once"),
        (grow("river", 3, [[9]]), 39, "no such broker is registered"),
        (grow("river", 3, [[]]), 39, "empty replica list"),
    ],
)
def test_what_cannot_be_added_says_why(
    wanted: CreatePartitionsTopic, code: int, message: str
) -> None:
    cluster = Cluster()
    cluster.must_create("river", 2)
    [(_, actual_code, actual_message)] = ask(cluster, wanted)
    assert (actual_code, message in actual_message) == (code, True), actual_message
    assert len(cluster.image.topics_by_name["river"].partitions) == 2


def test_a_name_given_twice_is_refused() -> None:
    cluster = Cluster()
    cluster.must_create("river")
    cluster.must_create("lake")
    answers = ask(cluster, grow("river", 2), grow("river", 3), grow("lake", 2))
    assert answers == [
        ("river", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("lake", 0, ""),
    ]
