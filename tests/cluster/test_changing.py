"""That the check of acknowledged changes sees what is wrong."""

import pytest

from tests.cluster.changing import TopicStory, contradictions


def story(*, must_exist: bool = True, may_exist: bool = True) -> TopicStory:
    told = TopicStory("river", 3)
    told.must_exist, told.may_exist = must_exist, may_exist
    told.values = ["7"]
    return told


@pytest.mark.parametrize(
    ("told", "partitions", "values", "expected"),
    [
        (story(), {"river": 3}, {"river": "7"}, []),
        (story(), {}, {}, ["river is missing"]),
        (story(), {"river": 4}, {"river": "7"}, ["river has 4 partitions, not 3"]),
        (story(), {"river": 3}, {"river": "6"}, ["river has retention.ms=6, not ['7']"]),
        (story(), {"river": 3}, {}, ["river has retention.ms=None, not ['7']"]),
        (
            story(must_exist=False, may_exist=False),
            {"river": 3},
            {},
            ["river is there, but was deleted"],
        ),
        # Nobody knows yet whether it was created.
        (story(must_exist=False), {}, {}, []),
        (story(must_exist=False), {"river": 3}, {}, []),
        (story(must_exist=False), {"river": 1}, {}, ["river has 1 partitions, not 3"]),
    ],
)
def test_what_contradicts_an_acknowledged_change_is_named(
    told: TopicStory,
    partitions: dict[str, int],
    values: dict[str, str | None],
    expected: list[str],
) -> None:
    assert contradictions([told], partitions, values) == expected
