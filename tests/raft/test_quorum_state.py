"""The file ``quorum-state``, byte for byte as Apache Kafka 4.3.1 writes it."""

import pytest

from moldau.ids import uuid_from_str
from moldau.raft.quorum_state import QuorumState, decode_quorum_state, encode_quorum_state

DYNAMIC = (
    b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,'
    b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)
STATIC = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)


@pytest.mark.parametrize(("kraft_version", "contents"), [(1, DYNAMIC), (0, STATIC)])
def test_a_leader_is_written_and_read(kraft_version: int, contents: bytes) -> None:
    state = QuorumState(2, leader_id=1)
    assert encode_quorum_state(state, kraft_version, [1]) == contents
    assert decode_quorum_state(contents) == state


def test_a_vote_names_the_directory_of_the_candidate() -> None:
    directory_id = uuid_from_str("J8aAPcfLQt2bqs1JT_rMgQ")
    state = QuorumState(7, voted_id=3, voted_directory_id=directory_id)
    assert decode_quorum_state(encode_quorum_state(state, 1, [])) == state


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        (b"", "not JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"data_version":2}', "data_version 2"),
        (b'{"data_version":0,"leaderId":"x"}', "leaderId 'x'"),
    ],
)
def test_damage_is_named(contents: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_quorum_state(contents)
