"""The voters of the metadata quorum.

With kraft.version 0 the list is the setting ``controller.quorum.voters``, the same on
every node, and directories have no ids. From kraft.version 1 on it is data: VotersRecords
in the metadata log itself, of which the latest is valid (KIP-853).
"""

from collections.abc import Mapping
from typing import NamedTuple

from moldau.ids import NO_UUID, uuid_from_str
from moldau.protocol.records.client_data import Endpoint as EndpointRecord
from moldau.protocol.records.client_data import KRaftVersionFeature, VotersRecord
from moldau.protocol.records.client_data import VotersRecordVoter as VoterRecord


class VoterEndpoint(NamedTuple):
    """An address at which a voter accepts connections of other voters."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A member of the quorum: its node id and the directory of its log."""

    id: int
    directory_id: bytes = NO_UUID
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def is_same(self, other: "Voter") -> bool:
        """Equality; the order of the endpoints does not matter, Kafka writes them in any."""
        if self._replace(endpoints=()) != other._replace(endpoints=()):
            return False
        return sorted(self.endpoints) == sorted(other.endpoints)


class VoterSet(NamedTuple):
    """The voters by id, in the order of the list."""

    voters: Mapping[int, Voter] = {}

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def is_only_voter(self, node_id: int) -> bool:
        return len(self.voters) == 1 and node_id in self.voters

    def has(self, node_id: int, directory_id: bytes) -> bool:
        """Whether a replica is a voter. Static voters have no directory id: any fits."""
        voter = self.voters.get(node_id)
        return voter is not None and voter.directory_id in (NO_UUID, directory_id)

    def endpoints(self, node_id: int) -> tuple[VoterEndpoint, ...]:
        """The addresses of a voter; none if it is not one."""
        voter = self.voters.get(node_id)
        return () if voter is None else voter.endpoints

    def without_voter(self, node_id: int) -> "VoterSet":
        return VoterSet({key: voter for key, voter in self.voters.items() if key != node_id})

    def with_voter(self, voter: Voter) -> "VoterSet":
        """This set with a voter added, or replaced if it has the same id."""
        return VoterSet({**self.voters, voter.id: voter})

    @staticmethod
    def of(*voters: Voter) -> "VoterSet":
        return VoterSet({voter.id: voter for voter in voters})

    @staticmethod
    def from_record(record: VotersRecord) -> "VoterSet":
        return VoterSet.of(
            *(
                Voter(
                    voter.voter_id,
                    voter.voter_directory_id,
                    tuple(VoterEndpoint(end.name, end.host, end.port) for end in voter.endpoints),
                    voter.kraft_version_feature.min_supported_version,
                    voter.kraft_version_feature.max_supported_version,
                )
                for voter in record.voters
            )
        )

    def to_record(self) -> VotersRecord:
        return VotersRecord(
            version=0,
            voters=[
                VoterRecord(
                    voter_id=voter.id,
                    voter_directory_id=voter.directory_id,
                    endpoints=[
                        EndpointRecord(name=end.name, host=end.host, port=end.port)
                        for end in voter.endpoints
                    ],
                    kraft_version_feature=KRaftVersionFeature(
                        min_supported_version=voter.min_kraft_version,
                        max_supported_version=voter.max_kraft_version,
                    ),
                )
                for voter in self.voters.values()
            ],
        )


def parse_static_voters(text: str) -> VoterSet:
    """The voters of ``controller.quorum.voters``: ``1@host:9093,2@host:9094``."""
    voters = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        node, separator, address = entry.partition("@")
        host, colon, port = address.rpartition(":")
        if not (separator and colon and node.isdigit() and port.isdigit()):
            raise ValueError(f"voter {entry!r}: expected id@host:port")
        endpoint = VoterEndpoint("CONTROLLER", host.strip("[]"), int(port))
        voters.append(Voter(int(node), NO_UUID, (endpoint,)))
    return VoterSet.of(*voters)


def parse_initial_controllers(text: str, listener: str) -> VoterSet:
    """The voters of ``--initial-controllers``: ``1@host:9093:directory-id,...``."""
    voters = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        node, separator, rest = entry.partition("@")
        address, colon, directory_id = rest.rpartition(":")
        host, second_colon, port = address.rpartition(":")
        if not (separator and colon and second_colon and node.isdigit() and port.isdigit()):
            raise ValueError(f"controller {entry!r}: expected id@host:port:directory-id")
        endpoint = VoterEndpoint(listener, host.strip("[]"), int(port))
        voters.append(Voter(int(node), uuid_from_str(directory_id), (endpoint,)))
    if not voters:
        raise ValueError("No voters given.")
    voter_set = VoterSet.of(*voters)
    if len(voter_set.voters) != len(voters):
        raise ValueError(f"{text!r} names a node id twice")
    return voter_set
