"""Transcripts of exchanges with a consumer group, line by line."""

import textwrap
from collections.abc import Callable

from tests.group_coordinator.consumer.cluster import Cluster, Consumer


class Transcript:
    """Runs a script and records the reply of each consumer.

    ``a joins foo bar``, ``a beats`` (having reconciled), ``a stays`` (not yet), ``a leaves``,
    ``wait 5000``, ``foo grows by 2``. A reply is ``@epoch target assignment``,
    a group is ``state group-epoch/target-epoch``.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.consumers: dict[str, Consumer] = {}

    def run(self, script: str) -> str:
        lines = textwrap.dedent(script).strip().splitlines()
        return "\n".join(self._line(line.split("|")[0].strip()) for line in lines)

    def _line(self, line: str) -> str:
        who, what, *rest = line.split()
        if who == "wait":
            self.cluster.pass_time(int(what))
        elif what == "grows":
            self.cluster.add_partitions(who, int(rest[1]))
        elif what == "joins":
            self.consumers.setdefault(who, Consumer(self.cluster, who)).topics = rest
            self.consumers[who].join()
        else:
            consumer = self.consumers[who]
            actions: dict[str, Callable[[], None]] = {
                "beats": consumer.beat,
                "stays": consumer.beat_as_is,
                "leaves": consumer.leave,
                "wants": lambda: consumer.subscribe(rest),
            }
            actions[what]()
        return f"{line:<16}| {self._heard(who):<24}| {self._group()}".rstrip()

    def _heard(self, who: str) -> str:
        consumer = self.consumers.get(who)
        if consumer is None:
            return ""
        if consumer.error:
            return f"error {consumer.error}"
        return f"@{consumer.epoch} {consumer.has}".rstrip()

    def _group(self) -> str:
        group = self.cluster.group
        return f"{group.state} {group.group_epoch}/{group.assignment_epoch}"


def check(cluster: Cluster, expected: str) -> None:
    said = Transcript(cluster).run(expected)
    assert said == textwrap.dedent(expected).strip()


def test_partitions_are_given_up_before_others_get_them() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 6)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1,2,3,4,5      | Stable 2/2
        a beats         | @2 foo:0,1,2,3,4,5      | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a stays         | @2 foo:0,1,2            | Reconciling 3/3
        b beats         | @3                      | Reconciling 3/3
        a beats         | @3 foo:0,1,2            | Reconciling 3/3
        b beats         | @3 foo:3,4,5            | Stable 3/3
        a beats         | @3 foo:0,1,2            | Stable 3/3
        """,
    )


def test_who_leaves_frees_its_partitions_for_the_next_heartbeats() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 4)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1,2,3          | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a beats         | @2 foo:0,1              | Reconciling 3/3
        a beats         | @3 foo:0,1              | Reconciling 3/3
        b beats         | @3 foo:2,3              | Stable 3/3
        b leaves        | @-1                     | Assigning 4/3
        a beats         | @4 foo:0,1,2,3          | Stable 4/4
        a leaves        | @-1                     | Empty 5/4
        """,
    )


def test_a_third_member_waits_for_two_others() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 6)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1,2,3,4,5      | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a beats         | @2 foo:0,1,2            | Reconciling 3/3
        a beats         | @3 foo:0,1,2            | Reconciling 3/3
        b beats         | @3 foo:3,4,5            | Stable 3/3
        c joins foo     | @4                      | Reconciling 4/4
        a beats         | @3 foo:0,1              | Reconciling 4/4
        a beats         | @4 foo:0,1              | Reconciling 4/4
        c beats         | @4 foo:2                | Reconciling 4/4
        b beats         | @3 foo:3,4              | Reconciling 4/4
        b beats         | @4 foo:3,4              | Reconciling 4/4
        c beats         | @4 foo:2,5              | Stable 4/4
        """,
    )


def test_a_newer_target_overtakes_a_revocation_that_is_under_way() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 4)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1,2,3          | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a beats         | @2 foo:0,1              | Reconciling 3/3
        b leaves        | @-1                     | Assigning 4/3
        a stays         | @2 foo:0,1              | Reconciling 4/4
        a beats         | @4 foo:0,1,2,3          | Stable 4/4
        """,
    )


def test_new_partitions_of_a_subscribed_topic_are_assigned_with_the_next_heartbeat() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1              | Stable 2/2
        foo grows by 2  |                         | Stable 2/2
        a beats         | @3 foo:0,1,2,3          | Stable 3/3
        """,
    )


def test_a_changed_subscription_takes_effect_at_once() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    cluster.create_topic("bar", 1)
    check(
        cluster,
        """
        a joins foo bar | @2 bar:0 foo:0,1        | Stable 2/2
        a beats         | @2 bar:0 foo:0,1        | Stable 2/2
        a wants bar     | @2 bar:0                | Reconciling 3/3
        a beats         | @3 bar:0                | Stable 3/3
        """,
    )


def test_assignments_are_computed_once_per_interval_for_all_who_joined_in_it() -> None:
    cluster = Cluster({"group.consumer.assignment.interval.ms": "1000"})
    cluster.create_topic("foo", 3)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1,2            | Stable 2/2
        b joins foo     | @2                      | Assigning 3/2
        c joins foo     | @2                      | Assigning 4/2
        wait 1000       |                         | Assigning 4/2
        a beats         | @2 foo:0                | Reconciling 4/4
        a beats         | @4 foo:0                | Reconciling 4/4
        b beats         | @4 foo:1                | Reconciling 4/4
        c beats         | @4 foo:2                | Stable 4/4
        """,
    )


def test_a_member_that_falls_silent_is_out_after_its_session() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1              | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a beats         | @2 foo:0                | Reconciling 3/3
        a beats         | @3 foo:0                | Reconciling 3/3
        b beats         | @3 foo:1                | Stable 3/3
        wait 30000      |                         | Stable 3/3
        a beats         | @3 foo:0                | Stable 3/3
        wait 15000      |                         | Assigning 4/3
        b beats         | error 25                | Assigning 4/3
        a beats         | @4 foo:0,1              | Stable 4/4
        """,
    )


def test_a_member_that_does_not_give_partitions_up_is_out_after_its_rebalance_timeout() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    check(
        cluster,
        """
        a joins foo     | @2 foo:0,1              | Stable 2/2
        a beats         | @2 foo:0,1              | Stable 2/2
        b joins foo     | @3                      | Reconciling 3/3
        a stays         | @2 foo:0                | Reconciling 3/3
        wait 20000      |                         | Reconciling 3/3
        a stays         | @2 foo:0                | Reconciling 3/3
        b beats         | @3                      | Reconciling 3/3
        wait 10000      |                         | Assigning 4/3
        a stays         | error 25                | Assigning 4/3
        b beats         | @4 foo:0,1              | Stable 4/4
        """,
    )
