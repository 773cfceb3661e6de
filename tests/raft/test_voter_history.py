"""The voters of the log by offset."""

from moldau.raft.messages import KraftVersionChange, VotersChange
from moldau.raft.voter_history import VoterHistory
from moldau.raft.voters import Voter, VoterSet

STATIC = VoterSet.of(Voter(1))
ONE, TWO = VoterSet.of(Voter(1), Voter(2)), VoterSet.of(Voter(2))


def history() -> VoterHistory:
    made = VoterHistory(STATIC)
    made.add(KraftVersionChange(4, 1))
    made.add(VotersChange(5, ONE))
    made.add(VotersChange(9, TWO))
    return made


def test_static_voters_are_valid_until_the_log_has_others() -> None:
    made = VoterHistory(STATIC)
    assert (made.voters, made.voters_offset, made.kraft_version) == (STATIC, None, 0)
    made.add(VotersChange(5, ONE))
    assert (made.voters, made.voters_offset) == (ONE, 5)


def test_a_truncation_brings_back_what_was_valid_before() -> None:
    made = history()
    made.truncate(10)
    assert made.voters == TWO
    made.truncate(9)
    assert (made.voters, made.kraft_version) == (ONE, 1)
    made.truncate(4)
    assert (made.voters, made.kraft_version) == (STATIC, 0)


def test_what_was_valid_just_before_the_start_of_the_log_is_kept() -> None:
    made = history()
    made.forget_before(9)
    assert made.voters_at(8) == ONE
    made.forget_before(10)
    assert made.voters_at(8) is None
    assert made.voters == TWO
    assert made.kraft_version == 1


def test_a_truncation_to_the_start_of_the_log_brings_back_what_was_valid_before_it() -> None:
    made = history()
    made.forget_before(9)
    made.truncate(9)
    assert made.voters == ONE


def test_a_snapshot_has_the_voters_of_its_last_record() -> None:
    made = history()
    assert [made.voters_at(offset) for offset in (4, 5, 8, 9)] == [None, ONE, ONE, TWO]
    assert [made.kraft_version_at(offset) for offset in (3, 4)] == [0, 1]
    made.reset(20, 1, ONE)
    assert (made.voters, made.voters_offset) == (ONE, 20)
