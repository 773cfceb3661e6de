"""Voters from settings, from the command line and from the log."""

import pytest

from moldau.ids import NO_UUID, uuid_from_str
from moldau.protocol.records.client_data import VotersRecord
from moldau.raft.voters import (
    Voter,
    VoterEndpoint,
    VoterSet,
    parse_initial_controllers,
    parse_static_voters,
)

DIRECTORY = "J8aAPcfLQt2bqs1JT_rMgQ"


def test_static_voters_come_from_the_setting() -> None:
    voters = parse_static_voters("1@alpha:9093, 2@[::1]:9094")
    assert voters.ids == (1, 2)
    assert voters.voters[2] == Voter(2, NO_UUID, (VoterEndpoint("CONTROLLER", "::1", 9094),))
    assert voters.majority == 2
    assert not voters.is_only_voter(1)


def test_initial_controllers_name_their_directories() -> None:
    voters = parse_initial_controllers(f"3@alpha:9093:{DIRECTORY}", "CTL")
    expected = Voter(3, uuid_from_str(DIRECTORY), (VoterEndpoint("CTL", "alpha", 9093),))
    assert voters == VoterSet.of(expected)
    assert voters.is_only_voter(3)


@pytest.mark.parametrize("text", ["1", "1@host", "x@host:1:" + DIRECTORY, "1@host:1:short", ""])
def test_a_malformed_controller_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_initial_controllers(text, "CTL")


def test_a_node_cannot_vote_twice() -> None:
    twice = ",".join(f"1@host:{port}:{DIRECTORY}" for port in (1, 2))
    with pytest.raises(ValueError, match="twice"):
        parse_initial_controllers(twice, "CTL")


def test_voters_survive_the_log() -> None:
    voters = parse_initial_controllers(f"3@alpha:9093:{DIRECTORY}", "CTL")
    written = voters.to_record().encode(0)
    record, _ = VotersRecord.decode(written, 0, 0)
    assert VoterSet.from_record(record) == voters


def test_the_order_of_endpoints_does_not_matter() -> None:
    one, two = VoterEndpoint("A", "host", 1), VoterEndpoint("B", "host", 2)
    assert Voter(1, NO_UUID, (one, two)).is_same(Voter(1, NO_UUID, (two, one)))
    assert not Voter(1, NO_UUID, (one,)).is_same(Voter(1, NO_UUID, (two,)))
    assert not Voter(1, NO_UUID, (one,)).is_same(Voter(1, NO_UUID, (one,), 0, 0))


def test_a_voter_is_a_node_and_its_directory_if_that_is_known() -> None:
    static, dynamic = VoterSet.of(Voter(1)), VoterSet.of(Voter(1, bytes(15) + b"x"))
    assert static.has(1, bytes(15) + b"y")
    assert not dynamic.has(1, bytes(15) + b"y")
    assert dynamic.has(1, bytes(15) + b"x")
    assert not static.has(2, NO_UUID)
    assert dynamic.without_voter(1) == VoterSet()
