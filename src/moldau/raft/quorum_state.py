"""The persistent state of a voter: the epoch, and its vote or leader.

The file ``quorum-state`` holds it as one line of JSON. Version 0 belongs to a quorum
with a static list of voters (kraft.version 0); version 1 names the candidate's directory
as well, so that a voter whose disk was replaced counts as another voter (KIP-853).
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.ids import NO_UUID, uuid_from_str, uuid_to_str

NO_NODE: Final = -1


class QuorumState(NamedTuple):
    """At most one of ``leader_id`` and ``voted_id`` is set."""

    leader_epoch: int = 0
    leader_id: int = NO_NODE
    voted_id: int = NO_NODE
    voted_directory_id: bytes = NO_UUID


def encode_quorum_state(state: QuorumState, kraft_version: int, voters: Sequence[int]) -> bytes:
    """The contents of the file, field for field as Kafka writes it."""
    data: dict[str, object]
    if kraft_version == 0:
        data = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in voters],
            "data_version": 0,
        }
    else:
        data = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": uuid_to_str(state.voted_directory_id),
            "data_version": 1,
        }
    return json.dumps(data, separators=(",", ":")).encode()


def decode_quorum_state(contents: bytes) -> QuorumState:
    """The state in a file's contents.

    Raises:
        ValueError: the contents are invalid.
    """
    try:
        data = json.loads(contents)
    except ValueError as error:
        raise ValueError(f"quorum-state is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"quorum-state holds {contents[:100]!r}: expected a JSON object")
    version = data.get("data_version")
    if version not in (0, 1):
        raise ValueError(f"quorum-state has data_version {version}: expected 0 or 1")
    numbers = {}
    for name in ("leaderId", "leaderEpoch", "votedId"):
        number = data.get(name)
        if not isinstance(number, int):
            raise ValueError(f"quorum-state has {name} {number!r}: expected a number")
        numbers[name] = number
    directory_id = NO_UUID
    if version == 1:
        directory_id = uuid_from_str(str(data.get("votedDirectoryId")))
    return QuorumState(
        numbers["leaderEpoch"], numbers["leaderId"], numbers["votedId"], directory_id
    )
