"""Golden transcripts of classic groups: requests, replies and records.

A line that begins with a name is a request of a client; the lines below it are the records and the
replies that it causes. ``a#1`` is the first member id of client ``a``.
"""

from tests.group_coordinator.conversation import Client, Conversation, subscription


def test_two_members_come_one_leaves_and_then_the_other() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.expect(
        """
        a joins as nobody
          log readers 0 None empty
          a: MEMBER_ID_REQUIRED a#1
        a joins as a#1
        b joins as nobody
          b: MEMBER_ID_REQUIRED b#1
        b joins as b#1
        -- 9 s --
          a: a#1 in 1 by range, leads a#1 b#1
          b: b#1 in 1 by range
        a syncs 1 with the assignment
          log readers 1 range a#1='of a' b#1='of b'
          a: has 'of a'
        b syncs 1
          b: has 'of b'
        """
    )
    talk.leave(b)
    talk.heartbeat(a)
    talk.join(a)
    talk.finish(a)
    talk.leave(a)
    talk.expect(
        """
        b leaves
          b: gone
        a beats 1
          a: REBALANCE_IN_PROGRESS
        a joins as a#1
          a: a#1 in 2 by range, leads a#1
        a syncs 2 with the assignment
          log readers 2 range a#1='of a'
          a: has 'of a'
        a leaves
          log readers 3 None empty
          a: gone
        """
    )


def test_the_first_rebalance_waits_longer_when_new_members_come() -> None:
    talk = Conversation()
    a, b, c = Client("a"), Client("b"), Client("c")
    talk.enter(a)
    talk.advance(2000)
    talk.enter(b)
    talk.advance(2000)
    talk.enter(c)
    talk.advance(1999)
    talk.advance(1)
    talk.advance(3000)
    talk.expect(
        """
        a joins as nobody
          log readers 0 None empty
          a: MEMBER_ID_REQUIRED a#1
        a joins as a#1
        -- 2 s --
        b joins as nobody
          b: MEMBER_ID_REQUIRED b#1
        b joins as b#1
        -- 2 s --
        c joins as nobody
          c: MEMBER_ID_REQUIRED c#1
        c joins as c#1
        -- 1.999 s --
        -- 0.001 s --
        -- 3 s --
          a: a#1 in 1 by range, leads a#1 b#1 c#1
          b: b#1 in 1 by range
          c: c#1 in 1 by range
        """
    )


def test_a_member_that_falls_silent_is_removed_after_its_session() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.heartbeat(b)
    talk.transcript()
    talk.advance(9999)
    talk.heartbeat(a)
    talk.advance(1)
    talk.heartbeat(a)
    talk.join(a)
    talk.finish(a)
    talk.heartbeat(b)
    talk.expect(
        """
        -- 9.999 s --
        a beats 1
          a: is alive
        -- 0.001 s --
        a beats 1
          a: REBALANCE_IN_PROGRESS
        a joins as a#1
          a: a#1 in 2 by range, leads a#1
        a syncs 2 with the assignment
          log readers 2 range a#1='of a'
          a: has 'of a'
        b beats 1
          b: UNKNOWN_MEMBER_ID
        """
    )


def test_a_sync_extends_the_session_like_a_heartbeat() -> None:
    """A member whose first sync was not answered in time joins and syncs again."""
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.heartbeat(b)
    talk.transcript()
    talk.advance(9999)
    talk.heartbeat(a)
    talk.sync(b)
    talk.advance(9999)
    talk.heartbeat(b)
    talk.expect(
        """
        -- 9.999 s --
        a beats 1
          a: is alive
        b syncs 1
          b: has 'of b'
        -- 9.999 s --
        b beats 1
          b: is alive
        """
    )


def test_members_that_do_not_come_back_within_the_rebalance_timeout_are_left_behind() -> None:
    talk = Conversation()
    a, b, c = Client("a"), Client("b", session_ms=90_000), Client("c")
    talk.form(a, b)
    talk.transcript()
    talk.enter(c)
    talk.join(a)
    talk.advance(59_999)
    talk.heartbeat(b)
    talk.advance(1)
    talk.heartbeat(b)
    talk.expect(
        """
        c joins as nobody
          c: MEMBER_ID_REQUIRED c#1
        c joins as c#1
        a joins as a#1
        -- 59.999 s --
        b beats 1
          b: REBALANCE_IN_PROGRESS
        -- 0.001 s --
          a: a#1 in 2 by range, leads a#1 c#1
          c: c#1 in 2 by range
        b beats 1
          b: UNKNOWN_MEMBER_ID
        """
    )


def test_members_that_do_not_sync_in_time_are_left_behind() -> None:
    talk = Conversation()
    a, b = Client("a", session_ms=90_000), Client("b")
    for client in (a, b):
        talk.enter(client)
    talk.advance(6000)
    talk.transcript()
    talk.sync(b)
    talk.advance(59_999)
    talk.heartbeat(a)
    talk.advance(1)
    talk.heartbeat(a)
    talk.join(b)
    talk.finish(b)
    talk.expect(
        """
        b syncs 1
        -- 59.999 s --
        a beats 1
          a: is alive
        -- 0.001 s --
          b: REBALANCE_IN_PROGRESS
        a beats 1
          a: UNKNOWN_MEMBER_ID
        b joins as b#1
          b: b#1 in 2 by range, leads b#1
        b syncs 2 with the assignment
          log readers 2 range b#1='of b'
          b: has 'of b'
        """
    )


def test_a_new_generation_cancels_the_syncs_of_the_old_one() -> None:
    talk = Conversation()
    a, b, c = Client("a"), Client("b"), Client("c")
    for client in (a, b):
        talk.enter(client)
    talk.advance(9000)
    talk.sync(b)
    talk.transcript()
    talk.enter(c)
    talk.join(b)
    talk.join(a)
    talk.finish(a, b, c)
    talk.expect(
        """
        c joins as nobody
          c: MEMBER_ID_REQUIRED c#1
        c joins as c#1
          b: REBALANCE_IN_PROGRESS
        b joins as b#1
        a joins as a#1
          a: a#1 in 2 by range, leads a#1 b#1 c#1
          b: b#1 in 2 by range
          c: c#1 in 2 by range
        a syncs 2 with the assignment
          log readers 2 range a#1='of a' b#1='of b' c#1='of c'
          a: has 'of a'
        b syncs 2
          b: has 'of b'
        c syncs 2
          c: has 'of c'
        """
    )


def test_a_static_leader_restarts_and_nobody_notices() -> None:
    talk = Conversation()
    a, b = Client("a", "one"), Client("b")
    talk.form(a, b)
    talk.transcript()
    again = Client("a", "one")
    talk.join(again)
    talk.sync(again)
    talk.heartbeat(b)
    talk.heartbeat(a)
    talk.expect(
        """
        a joins as nobody
          log readers 1 range b#1='of b' one#2='of a'
          a: one#2 in 1 by range, leads b#1 one#2, skips the assignment
        a syncs 1
          a: has 'of a'
        b beats 1
          b: is alive
        a beats 1
          a: FENCED_INSTANCE_ID
        """
    )


def test_a_static_leader_of_an_old_version_is_told_the_old_leader() -> None:
    talk = Conversation()
    a, b = Client("a", "one", version=8), Client("b", version=8)
    talk.form(a, b)
    talk.transcript()
    again = Client("a", "one", version=8)
    talk.join(again)
    talk.sync(again)
    talk.expect(
        """
        a joins as nobody
          log readers 1 range b#1='of b' one#2='of a'
          a: one#2 in 1 by range
        a syncs 1
          a: has 'of a'
        """
    )


def test_a_static_member_that_comes_back_with_another_protocol_starts_a_rebalance() -> None:
    talk = Conversation()
    a, b = Client("a", "one"), Client("b", "two")
    a.protocols = {"range": subscription("rivers"), "sticky": subscription("rivers")}
    b.protocols = a.protocols
    talk.form(a, b)
    talk.transcript()
    again = Client("b", "two")
    again.protocols = {"sticky": subscription("rivers")}
    talk.join(again)
    talk.join(a)
    talk.finish(a, again)
    talk.expect(
        """
        b joins as nobody
        a joins as one#1
          a: one#1 in 2 by sticky, leads one#1 two#2
          b: two#2 in 2 by sticky
        a syncs 2 with the assignment
          log readers 2 sticky one#1='of a' two#2='of b'
          a: has 'of a'
        b syncs 2
          b: has 'of b'
        """
    )


def test_a_static_member_that_restarts_amid_a_sync_starts_a_rebalance() -> None:
    talk = Conversation()
    a, b = Client("a", "one"), Client("b", "two")
    for client in (a, b):
        talk.enter(client)
    talk.advance(9000)
    talk.sync(b)
    talk.transcript()
    again = Client("b", "two")
    talk.join(again)
    talk.join(a)
    talk.expect(
        """
        b joins as nobody
          b: FENCED_INSTANCE_ID
        a joins as one#1
          a: one#1 in 2 by range, leads one#1 two#2
          b: two#2 in 2 by range
        """
    )


def test_static_members_stay_when_they_miss_a_rebalance() -> None:
    talk = Conversation()
    a, b, c = Client("a", "one", session_ms=90_000), Client("b", "two"), Client("c")
    talk.form(a, b)
    talk.transcript()
    talk.enter(c)
    talk.join(b)
    talk.advance(60_000)
    talk.heartbeat(a)
    talk.sync(c)
    talk.sync(b, {c.member_id: b"of c", a.member_id: b"of a"})
    talk.join(a)
    talk.sync(a)
    talk.expect(
        """
        c joins as nobody
          c: MEMBER_ID_REQUIRED c#1
        c joins as c#1
        b joins as two#1
        -- 60 s --
          b: two#1 in 2 by range, leads one#1 two#1 c#1
          c: c#1 in 2 by range
        a beats 1
          a: ILLEGAL_GENERATION
        c syncs 2
        b syncs 2 with the assignment
          log readers 2 range one#1='of a' two#1='' c#1='of c'
          b: has ''
          c: has 'of c'
        a joins as one#1
          a: one#1 in 2 by range
        a syncs 2
          a: has 'of a'
        """
    )


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a)
    talk.join(b)
    talk.transcript()
    for _ in range(2):
        talk.advance(5000)
        talk.heartbeat(a)
    talk.join(b)
    talk.expect(
        """
        -- 5 s --
        a beats 1
          a: is alive
        -- 5 s --
        a beats 1
          a: is alive
        b joins as b#1
          b: UNKNOWN_MEMBER_ID b#1
        """
    )


def test_a_rebalance_waits_for_those_who_were_promised_an_id() -> None:
    talk = Conversation()
    a, b, c = Client("a"), Client("b"), Client("c")
    talk.form(a)
    talk.transcript()
    talk.join(b)
    talk.join(c)
    talk.join(b)
    talk.join(a)
    talk.join(c)
    talk.expect(
        """
        b joins as nobody
          b: MEMBER_ID_REQUIRED b#1
        c joins as nobody
          c: MEMBER_ID_REQUIRED c#1
        b joins as b#1
        a joins as a#1
        c joins as c#1
          a: a#1 in 2 by range, leads a#1 b#1 c#1
          b: b#1 in 2 by range
          c: c#1 in 2 by range
        """
    )


def test_members_go_on_after_a_restart_of_the_broker() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b", "two")
    talk.form(a, b)
    talk.transcript()
    talk.advance(9000)
    talk.reload()
    talk.heartbeat(a)
    talk.advance(9000)
    talk.heartbeat(a)
    talk.sync(b)
    talk.advance(9000)
    talk.heartbeat(a)
    talk.advance(1000)
    talk.heartbeat(a)
    talk.expect(
        """
        -- 9 s --
        -- reload --
        a beats 1
          a: is alive
        -- 9 s --
        a beats 1
          a: is alive
        b syncs 1
          b: has 'of b'
        -- 9 s --
        a beats 1
          a: is alive
        -- 1 s --
        a beats 1
          a: REBALANCE_IN_PROGRESS
        """
    )


def test_the_leader_asks_for_a_rebalance_and_a_follower_only_for_its_assignment() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.transcript()
    talk.join(b)
    talk.join(a)
    talk.heartbeat(b)
    talk.join(b)
    talk.expect(
        """
        b joins as b#1
          b: b#1 in 1 by range
        a joins as a#1
        b beats 1
          b: REBALANCE_IN_PROGRESS
        b joins as b#1
          a: a#1 in 2 by range, leads a#1 b#1
          b: b#1 in 2 by range
        """
    )


def test_old_clients_are_let_in_at_once_and_leave_alone() -> None:
    talk = Conversation()
    a, b = Client("a", version=3), Client("b", version=0)
    talk.join(a)
    talk.join(b)
    talk.advance(9000)
    talk.finish(a, b)
    talk.leave(b, version=1)
    talk.leave(b, version=1)
    talk.expect(
        """
        a joins as nobody
          log readers 0 None empty
        b joins as nobody
        -- 9 s --
          a: a#1 in 1 by range, leads a#1 b#1
          b: b#1 in 1 by range
        a syncs 1 with the assignment
          log readers 1 range a#1='of a' b#1='of b'
          a: has 'of a'
        b syncs 1
          b: has 'of b'
        b leaves
          b: gone
        b leaves
          b: UNKNOWN_MEMBER_ID
        """
    )


def test_several_members_leave_with_one_rebalance() -> None:
    talk = Conversation()
    a, b, c = Client("a"), Client("b", "two"), Client("c")
    talk.form(a, b, c)
    talk.transcript()
    gone = Client("b", "two")
    stranger = Client("stranger")
    stranger.member_id = "nobody-knows"
    talk.leave(gone, c, stranger)
    talk.join(a)
    talk.expect(
        """
        b and c and stranger leaves
          b: gone, gone, UNKNOWN_MEMBER_ID
        a joins as a#1
          a: a#1 in 2 by range, leads a#1
        """
    )
