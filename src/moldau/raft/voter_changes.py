"""Changes of the voters: add, remove and update one at a time (KIP-853).

The leader appends a VotersRecord, which counts from then on; the next change waits until it is
committed, so that two sets in a row always share a majority. The leader may remove itself: it
leads until that is committed, and resigns (KAFKA-17608).
"""

from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, uuid_to_str
from moldau.raft.effects import AppendVoters, Reply
from moldau.raft.leader import Leader, PendingVoterChange
from moldau.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Peer,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from moldau.raft.quorum import Quorum
from moldau.raft.requests import FOREVER_MS
from moldau.raft.voters import Voter, VoterSet

_Refusal = tuple[ErrorCode, str]

_TIMED_OUT: Final = "The request timed out."


def _text(key: ReplicaKey) -> str:
    """A replica as error messages name it."""
    directory = "<undefined>" if key.directory_id == NO_UUID else uuid_to_str(key.directory_id)
    return f"ReplicaKey(id={key.id}, directoryId={directory})"


def _texts(voters: VoterSet) -> str:
    keys = [_text(ReplicaKey(each.id, each.directory_id)) for each in voters.voters.values()]
    return f"[{', '.join(keys)}]"


class VoterChanges:
    """The leader's side."""

    def __init__(self, quorum: Quorum) -> None:
        self._quorum = quorum

    # Add

    def on_add_request(self, reply_to: int, request: AddVoterRequest, now_ms: int) -> None:
        quorum = self._quorum
        leader = quorum.role
        error = quorum.check_leader(quorum.epoch)
        if error is not ErrorCode.NONE or not isinstance(leader, Leader):
            quorum.emit(Reply(reply_to, AddVoterResponse(error, "")))
            return
        refusal = self._refuse_add(leader, request)
        if refusal is not None:
            quorum.emit(Reply(reply_to, AddVoterResponse(*refusal)))
            return
        peer = quorum.peer(request.voter.id, request.endpoints)
        assert peer is not None
        is_sent, expires_ms = quorum.send(peer, ApiVersionsRequest, now_ms)
        if not is_sent:
            message = f"New voter {_text(request.voter)} is not ready to receive requests"
            quorum.emit(Reply(reply_to, AddVoterResponse(ErrorCode.REQUEST_TIMED_OUT, message)))
            return
        pending = PendingVoterChange(
            reply_to, request.voter, request.endpoints, expires_ms, is_add=True
        )
        pending.ack_when_committed = request.ack_when_committed
        leader.pending = pending

    def _refuse_add(self, leader: Leader, request: AddVoterRequest) -> _Refusal | None:
        quorum = self._quorum
        voter = request.voter
        if voter.id < 0 or voter.directory_id == NO_UUID:
            return ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter"
        if quorum.peer(voter.id, request.endpoints) is None:
            listeners = ", ".join(
                f"ListenerName({each.name})={each.host}/<unresolved>:{each.port}"
                for each in request.endpoints
            )
            return ErrorCode.INVALID_REQUEST, (
                "Add voter request didn't include the endpoint "
                f"(Endpoints(endpoints={{{listeners}}})) for the default listener "
                f"ListenerName({quorum.config.listener_name})"
            )
        refusal = self._refuse(leader, "adding")
        if refusal is None and voter.id in quorum.voters.voters:
            return ErrorCode.DUPLICATE_VOTER, (
                f"The voter id for {_text(voter)} is already part of the set of voters "
                f"{_texts(quorum.voters)}."
            )
        return refusal

    def _refuse(self, leader: Leader, doing: str) -> _Refusal | None:
        """Why no change is possible now. One at a time, in an epoch that is committed."""
        history = self._quorum.history
        if leader.pending is not None:
            return ErrorCode.REQUEST_TIMED_OUT, (
                "Request timed out waiting for leader to handle previous voter change request"
            )
        if leader.high_watermark < 0:
            return ErrorCode.REQUEST_TIMED_OUT, (
                "Request timed out waiting for leader to establish HWM and fence previous voter "
                "changes"
            )
        if history.kraft_version == 0:
            return ErrorCode.UNSUPPORTED_VERSION, (
                f"Cluster doesn't support {doing} voter because the kraft.version feature is 0"
            )
        offset = history.voters_offset
        if offset is None or offset >= leader.high_watermark:
            found = "Optional.empty" if offset is None else f"Optional[{offset}]"
            return ErrorCode.REQUEST_TIMED_OUT, (
                "Request timed out waiting for voters to commit the latest voter change at "
                f"{found} with HWM {leader.high_watermark}"
            )
        return None

    def on_api_versions(self, peer: Peer, response: ApiVersionsResponse, now_ms: int) -> bool:
        """The voter to be added answered; returns whether it can be asked again at once."""
        leader = self._quorum.role
        if not isinstance(leader, Leader):
            return True
        pending = leader.pending
        if pending is None or not pending.is_add or pending.is_appended:
            return True
        if pending.voter.id != peer.id:
            return True
        refusal = self._refuse_voter(leader, pending, response, now_ms)
        if refusal is not None:
            self._answer(leader, *refusal)
            return response.error is ErrorCode.NONE
        assert response.min_kraft_version is not None
        assert response.max_kraft_version is not None
        voter = Voter(
            pending.voter.id,
            pending.voter.directory_id,
            pending.endpoints,
            response.min_kraft_version,
            response.max_kraft_version,
        )
        pending.is_appended = True
        quorum = self._quorum
        quorum.emit(AppendVoters(quorum.epoch, quorum.voters.with_voter(voter)))
        if not pending.ack_when_committed:
            pending.is_answered = True
            quorum.emit(Reply(pending.reply_to, AddVoterResponse(ErrorCode.NONE)))
        return True

    def _refuse_voter(
        self,
        leader: Leader,
        pending: PendingVoterChange,
        response: ApiVersionsResponse,
        now_ms: int,
    ) -> _Refusal | None:
        """Why the new voter does not fit. It must have caught up, or commits would wait for it."""
        version = self._quorum.history.kraft_version
        lowest, highest = response.min_kraft_version, response.max_kraft_version
        if response.error is not ErrorCode.NONE:
            return ErrorCode.REQUEST_TIMED_OUT, (
                "Aborted add voter operation for since API_VERSIONS returned an error "
                f"{response.error.name}"
            )
        if lowest is None or highest is None or not lowest <= version <= highest:
            # Kafka's message lacks a parenthesis, too.
            found = "(min: 0, max: 0)" if lowest is None else f"(min: {lowest}, max: {highest}"
            return ErrorCode.INVALID_REQUEST, (
                f"Aborted add voter operation for {_text(pending.voter)} since the kraft.version "
                f"range {found} doesn't support the finalized version {version}"
            )
        if not leader.is_caught_up(pending.voter, now_ms):
            return ErrorCode.REQUEST_TIMED_OUT, (
                f"Aborted add voter operation for {_text(pending.voter)} since it is lagging behind"
            )
        return None

    # Remove

    def on_remove_request(self, reply_to: int, request: RemoveVoterRequest, now_ms: int) -> None:
        quorum = self._quorum
        leader = quorum.role
        error = quorum.check_leader(quorum.epoch)
        if error is not ErrorCode.NONE or not isinstance(leader, Leader):
            quorum.emit(Reply(reply_to, RemoveVoterResponse(error, "")))
            return
        refusal = self._refuse_remove(leader, request.voter)
        if refusal is not None:
            quorum.emit(Reply(reply_to, RemoveVoterResponse(*refusal)))
            return
        expires_ms = now_ms + quorum.config.request_timeout_ms
        pending = PendingVoterChange(reply_to, request.voter, (), expires_ms, is_add=False)
        pending.is_appended = True
        leader.pending = pending
        quorum.emit(AppendVoters(quorum.epoch, quorum.voters.without_voter(request.voter.id)))

    def _refuse_remove(self, leader: Leader, key: ReplicaKey) -> _Refusal | None:
        if key.id < 0 or key.directory_id == NO_UUID:
            return ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
        refusal = self._refuse(leader, "removing")
        if refusal is not None:
            return refusal
        voters = self._quorum.voters
        voter = voters.voters.get(key.id)
        is_other = voter is None or voter.directory_id != key.directory_id
        if is_other or len(voters.voters) == 1:
            return ErrorCode.VOTER_NOT_FOUND, (
                f"Cannot remove voter {_text(key)} from the set of voters {_texts(voters)}"
            )
        return None

    # Update

    def on_update_request(self, request: UpdateVoterRequest, now_ms: int) -> UpdateVoterResponse:
        """A voter tells its addresses and versions, after a restart or before an upgrade."""
        quorum = self._quorum
        leader = quorum.role
        error = quorum.check_leader(request.leader_epoch)
        if error is ErrorCode.NONE and isinstance(leader, Leader):
            error = self._update(leader, request)
            if error is ErrorCode.NONE:
                leader.follows(request.voter, now_ms)
        return UpdateVoterResponse(error, quorum.current_leader)

    def _update(self, leader: Leader, request: UpdateVoterRequest) -> ErrorCode:
        quorum = self._quorum
        key, version = request.voter, quorum.history.kraft_version
        lowest, highest = request.min_kraft_version, request.max_kraft_version
        is_known = key.id >= 0 and key.directory_id != NO_UUID
        if not is_known or quorum.peer(key.id, request.endpoints) is None or lowest < 0:
            return ErrorCode.INVALID_REQUEST
        if highest < lowest:
            return ErrorCode.INVALID_REQUEST
        if leader.pending is not None or leader.high_watermark < 0:
            return ErrorCode.REQUEST_TIMED_OUT
        voters: VoterSet | None = leader.volatile_voters
        if version > 0:
            offset = quorum.history.voters_offset
            is_committed = offset is not None and offset < leader.high_watermark
            voters = quorum.voters if is_committed else None
        if voters is None:
            return ErrorCode.REQUEST_TIMED_OUT
        if not lowest <= version <= highest:
            return ErrorCode.INVALID_REQUEST
        old = voters.voters.get(key.id)
        if old is None or (version > 0 and not voters.has(*key)):
            return ErrorCode.VOTER_NOT_FOUND
        updated = voters.with_voter(Voter(*key, request.endpoints, lowest, highest))
        if version > 0:
            quorum.emit(AppendVoters(quorum.epoch, updated))
        else:
            leader.volatile_voters = updated
        return ErrorCode.NONE

    # kraft.version

    def upgrade(self, leader_epoch: int, version: int, *, validate_only: bool) -> None:
        """Raise kraft.version from 0 to 1: the voters go from the configuration to the log.

        Raises:
            ApiError: NOT_CONTROLLER, INVALID_UPDATE_VERSION.
        """
        quorum = self._quorum
        leader = quorum.role
        if not isinstance(leader, Leader) or leader_epoch != quorum.epoch:
            raise ApiError(ErrorCode.NOT_CONTROLLER)
        current = leader.requested_kraft_version or quorum.history.kraft_version
        if version == current:
            return
        if version < current:
            raise ApiError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid upgrade of kraft.version from version {current} to {version} because the "
                "new version is a downgrade",
            )
        voters = leader.volatile_voters
        if voters is None:
            raise ApiError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid upgrade of kraft.version from version {current} to {version}",
            )
        for voter in voters.voters.values():
            is_supported = voter.min_kraft_version <= version <= voter.max_kraft_version
            if not is_supported or voter.directory_id == NO_UUID:
                raise ApiError(
                    ErrorCode.INVALID_UPDATE_VERSION,
                    f"Invalid upgrade of kraft.version to {version} because not all of the voters "
                    "support it",
                )
        if not validate_only:
            leader.volatile_voters = None
            leader.requested_kraft_version = version
            quorum.emit(AppendVoters(quorum.epoch, voters, version))

    # Commitment and time

    def on_voters_appended(self, leader: Leader, offset: int) -> None:
        if leader.pending is not None and leader.pending.is_appended and leader.pending.offset < 0:
            leader.pending.offset = offset

    def on_committed(self, leader: Leader) -> None:
        """Answer the change that is now committed; resign if it removed this node."""
        pending = leader.pending
        if pending is not None and 0 <= pending.offset < leader.high_watermark:
            self._answer(leader, ErrorCode.NONE, None)
        offset = self._quorum.history.voters_offset
        if offset is not None and offset < leader.high_watermark and not self._quorum.is_voter:
            leader.is_resigning = True

    def poll(self, leader: Leader, now_ms: int) -> int:
        pending = leader.pending
        if pending is None:
            return FOREVER_MS
        if now_ms >= pending.expires_ms:
            self._answer(leader, ErrorCode.REQUEST_TIMED_OUT, _TIMED_OUT)
            return FOREVER_MS
        return pending.expires_ms

    def _answer(self, leader: Leader, error: ErrorCode, message: str | None) -> None:
        pending, leader.pending = leader.pending, None
        if pending is None or pending.is_answered:
            return
        if pending.is_add:
            self._quorum.emit(Reply(pending.reply_to, AddVoterResponse(error, message)))
        else:
            self._quorum.emit(Reply(pending.reply_to, RemoveVoterResponse(error, message)))
