"""Patterns that the broker resolves: when it looks at the topics, and what follows."""

import random
import re

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer import subscription
from moldau.group_coordinator.consumer.group_update import all_steps
from moldau.group_coordinator.consumer.subscription import (
    NAMES_PER_STEP,
    REMEMBERED_PATTERNS,
    ResolvedRegex,
    TopicMatches,
)
from moldau.protocol.records.group_coordinator import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, Consumer, settle


def cluster_with(*names: str, settings: dict[str, str] | None = None) -> Cluster:
    cluster = Cluster(settings)
    for name in names:
        cluster.create_topic(name, 2)
    return cluster


def test_a_pattern_matches_whole_names_and_is_assigned_at_once() -> None:
    cluster = cluster_with("foo", "foobar", "bar")
    a = Consumer(cluster, "a", None, "foo.*").join()
    assert a.has == "foo:0,1 foobar:0,1"
    b = Consumer(cluster, "b", None, "ba").join()
    assert (b.error, b.has) == (0, "")


def test_the_resolved_topics_are_written_with_the_image_they_come_from() -> None:
    cluster = cluster_with("foo", "fox")
    Consumer(cluster, "a", None, "fo.").join()
    key = ConsumerGroupRegularExpressionKey(group_id=GROUP, regular_expression="fo.")
    found = [record for record in cluster.last_records if record.key == key]
    assert [record.value for record in found] == [
        ConsumerGroupRegularExpressionValue(
            topics=["foo", "fox"], version=cluster.image.offset, timestamp=cluster.wall_ms
        )
    ]


@pytest.mark.parametrize("regex", ["(", "[a", "*foo", "a{2,1}", "(?P<x>"])
def test_a_pattern_that_cannot_be_compiled_is_refused(regex: str) -> None:
    cluster = cluster_with("foo")
    a = Consumer(cluster, "a", None, regex).join()
    assert a.error == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert cluster.log == []


def test_names_and_patterns_add_up() -> None:
    cluster = cluster_with("foo", "bar", "baz")
    a = Consumer(cluster, "a", ("foo", "bar"), "ba.").join()
    assert a.has == "bar:0,1 baz:0,1 foo:0,1"


def test_new_topics_are_found_ten_seconds_after_the_last_look() -> None:
    cluster = cluster_with("foo")
    a = Consumer(cluster, "a", None, "fo.").join()
    a.beat()
    cluster.create_topic("fox", 1)
    cluster.pass_time(10_000)
    a.beat()
    assert a.has == "foo:0,1"
    cluster.pass_time(1)
    a.beat()
    assert a.has == "foo:0,1 fox:0"


def test_without_new_topics_nobody_looks_for_ten_minutes() -> None:
    cluster = cluster_with("foo")
    a = Consumer(cluster, "a", None, "fo.").join()
    for _ in range(20):
        cluster.pass_time(30_000)
        a.beat()
        assert cluster.last_records == []
    cluster.pass_time(1)
    a.beat()
    assert [type(record.key) for record in cluster.last_records] == [
        ConsumerGroupRegularExpressionKey
    ]


def test_a_deleted_topic_goes_although_its_pattern_stays() -> None:
    cluster = cluster_with("foo", "fox")
    a = Consumer(cluster, "a", None, "fo.").join()
    a.beat()
    cluster.delete_topic("fox")
    a.beat()
    a.beat()
    assert (a.has, cluster.state) == ("foo:0,1", "Stable")


def test_the_pattern_of_the_last_member_that_used_it_is_deleted() -> None:
    cluster = cluster_with("foo", "bar")
    a = Consumer(cluster, "a", None, "fo.").join()
    b = Consumer(cluster, "b", None, "fo.").join()
    settle([a, b])
    a.subscribe(None, "ba.")
    settle([a, b])
    assert sorted(cluster.group.resolved) == ["ba.", "fo."]
    assert (a.has, b.has) == ("bar:0,1", "foo:0,1")
    b.leave()
    assert sorted(cluster.group.resolved) == ["ba."]
    a.subscribe(["foo"], "")
    settle([a])
    assert cluster.group.resolved == {}
    assert a.has == "foo:0,1"


def test_a_pattern_that_somebody_has_already_is_not_resolved_again() -> None:
    cluster = cluster_with("foo")
    Consumer(cluster, "a", None, "fo.").join()
    Consumer(cluster, "b", None, "fo.").join()
    keys = [type(record.key) for record in cluster.last_records]
    assert ConsumerGroupRegularExpressionKey not in keys
    assert cluster.group.subscriptions.is_homogeneous


def test_after_a_reload_topics_that_came_meanwhile_are_found() -> None:
    cluster = cluster_with("foo")
    a = Consumer(cluster, "a", None, "fo.").join()
    a.beat()
    cluster.create_topic("fox", 1)
    cluster.pass_time(11_000)
    cluster.reload()
    a.beat()
    assert a.has == "foo:0,1 fox:0"


def test_a_subscription_by_pattern_is_a_subscription_to_its_topics() -> None:
    cluster = cluster_with("foo", "bar")
    Consumer(cluster, "a", None, "fo.").join()
    groups = cluster.shard._consumer
    assert groups.is_subscribed(GROUP, "foo")
    assert not groups.is_subscribed(GROUP, "bar")
    assert not groups.is_subscribed("other", "foo")


def test_how_often_nobody_looks_can_be_set() -> None:
    cluster = cluster_with("foo", settings={"group.consumer.regex.refresh.interval.ms": "20000"})
    a = Consumer(cluster, "a", None, "fo.").join()
    cluster.pass_time(20_000)
    a.beat()
    assert cluster.last_records == []
    cluster.pass_time(1)
    a.beat()
    assert [type(record.key) for record in cluster.last_records] == [
        ConsumerGroupRegularExpressionKey
    ]


def test_many_topics_are_matched_in_steps_and_again_when_one_is_added() -> None:
    cluster = cluster_with(*[f"topic-{number:03}" for number in range(300)], "other")
    matches = TopicMatches()
    assert len(list(matches.finding("topic-.*", cluster.image))) >= 300 / NAMES_PER_STEP
    assert list(matches.finding("topic-.*", cluster.image)) == [], "they are known"
    assert len(all_steps(matches.finding("topic-.*", cluster.image))) == 300
    cluster.create_topic("topic-new", 1)
    assert all_steps(matches.finding("topic-.*", cluster.image))[-1] == "topic-new"
    with pytest.raises(ApiError):
        all_steps(matches.finding("(", cluster.image))


def test_after_a_topic_came_or_went_only_that_one_is_looked_at() -> None:
    """What is stored with a group is the basis, for patterns that are not remembered as well."""
    cluster = cluster_with(*[f"topic-{number:03}" for number in range(300)], "other")
    matches = TopicMatches()
    topics = all_steps(matches.finding("topic-.*", cluster.image))
    resolved = ResolvedRegex(topics, cluster.image.offset, 0)
    for number in range(REMEMBERED_PATTERNS):
        all_steps(matches.finding(f"{number}", cluster.image))
    cluster.create_topic("topic-new", 1)
    cluster.delete_topic("topic-007")
    cluster.create_topic("none", 1)
    few = len(list(matches.finding("topic-.*", cluster.image, resolved)))
    assert few < 300 / NAMES_PER_STEP + 2
    expected = sorted({*topics, "topic-new"} - {"topic-007"})
    assert all_steps(matches.finding("topic-.*", cluster.image, resolved)) == tuple(expected)
    # What was stored before, by whomever, is not relied on.
    strange = ResolvedRegex(("other",), cluster.image.offset, 0)
    assert all_steps(TopicMatches().finding("other|none", cluster.image)) == ("none", "other")
    again = TopicMatches()
    cluster.create_topic("one", 1)
    assert all_steps(again.finding("other|one", cluster.image, strange)) == ("one", "other")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_came_or_went_what_is_found_is_what_matches_now(seed: int) -> None:
    rng = random.Random(seed)
    cluster = cluster_with("t0")
    matches = TopicMatches()
    patterns = ["t.*", "t[02468]", "t1.?", "x"]
    latest = cluster.image
    images = [latest]
    resolved: dict[str, ResolvedRegex] = {}
    for _ in range(150):
        for _ in range(rng.randrange(4)):
            name = f"t{rng.randrange(15)}"
            if name in cluster.image.topics_by_name:
                cluster.delete_topic(name)
            else:
                cluster.create_topic(name, 1)
        images.append(cluster.image)
        regex = rng.choice(patterns)
        # Somebody may have begun with an earlier image.
        image = rng.choice(images[-3:])
        latest = max(latest, image, key=lambda each: each.offset)
        found = all_steps(matches.finding(regex, image, resolved.get(regex)))
        match = re.compile(regex).fullmatch
        assert list(found) == sorted(name for name in latest.topics_by_name if match(name))
        resolved[regex] = ResolvedRegex(found, image.offset, 0)


def test_more_changes_than_are_remembered_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "REMEMBERED_CHANGES", 3)
    test_whatever_came_or_went_what_is_found_is_what_matches_now(0)


def test_only_so_many_patterns_are_remembered() -> None:
    cluster = cluster_with("foo")
    matches = TopicMatches()
    for number in range(3 * REMEMBERED_PATTERNS):
        assert all_steps(matches.finding(f"fo{{1,{number + 2}}}", cluster.image)) == ("foo",)
    assert list(matches.finding("fo{1,2}", cluster.image)), "it is forgotten"
