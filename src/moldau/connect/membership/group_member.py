"""A worker as a member of its group: joins, sends heartbeats, and knows when it has lost the group.

Rules this module keeps:

* An active worker has a lease, which each heartbeat that is answered extends from the moment it was
  sent. When the lease ends, ``on_lost`` is called, from a thread that waits for nothing else. The
  coordinator gives the group away only later, so two workers never run the same connector, provided
  that stopping takes less than a third of ``session.timeout.ms``.
* While the group rebalances because a standby comes or goes, the active worker goes on.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import ConnectionFailed
from moldau.client.coordinators import Coordinators
from moldau.connect.membership.standing import (
    LEASE_SHARE,
    PROTOCOL_NAME,
    PROTOCOL_TYPE,
    Standing,
    decode_assignment,
    encode_assignment,
    encode_member,
)
from moldau.connect.stores.topic_log import ClientSettings
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from moldau.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

log = logging.getLogger(__name__)

_MARGIN_S: Final = 10.0
_BACKOFF_S: Final = 0.5
_FOREIGN: Final = frozenset((ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.GROUP_ID_NOT_FOUND))
# The membership is over: another generation may have formed without this worker.
_EXPELLED: Final = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
    )
)


class GroupMember:
    """Keeps up the membership in two threads, from ``start`` to ``close``."""

    def __init__(
        self,
        clients: ClientSettings,
        group_id: str,
        *,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        heartbeat_interval_ms: int,
        on_change: Callable[[], None],
        on_lost: Callable[[], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        """``on_change``: the standing is another one. ``on_lost``: stop all connectors now.
        ``on_failed``: the group cannot be used, and trying again does not help."""
        self.group_id = group_id
        self._url = ""
        self._clients = clients
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        # Two answers may be missed before the lease ends.
        self._interval_s = min(heartbeat_interval_ms, session_timeout_ms / 5) / 1000
        self._lease_s = session_timeout_ms / 1000 * LEASE_SHARE
        self._on_change = on_change
        self._on_lost = on_lost
        self._on_failed = on_failed
        self._cluster = self._new_cluster()
        self._coordinators = Coordinators(self._cluster)
        self._member_id = ""
        self._generation = -1
        self._lock = threading.Lock()
        self._standing: Standing | None = None
        self._lease_until_s = 0.0
        self._is_member = False
        self._has_joined = False
        self._closing = threading.Event()
        self._renewed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="connect-group", daemon=True)
        self._watchdog = threading.Thread(target=self._watch, name="connect-lease", daemon=True)

    @property
    def standing(self) -> Standing | None:
        with self._lock:
            return self._standing

    @property
    def has_joined(self) -> bool:
        return self._has_joined

    def is_active(self) -> bool:
        with self._lock:
            standing = self._standing
            return (
                standing is not None
                and standing.is_active
                and time.monotonic() < self._lease_until_s
            )

    def start(self, url: str) -> None:
        """Begin to join, as the worker whose REST API is at ``url``. Returns at once."""
        self._url = url
        self._thread.start()
        self._watchdog.start()

    def close(self) -> None:
        """Leave the group. Connectors must have been stopped: another worker starts them now."""
        self._closing.set()
        self._renewed.set()
        with self._lock:
            self._standing = None
        if self._thread.ident is None:
            return
        self._thread.join(2.0)
        # The thread may still wait for an answer: leave over a connection of its own.
        with suppress(ApiError, ConnectionFailed), self._new_cluster() as cluster:
            if self._member_id:
                request = LeaveGroupRequest(self.group_id)
                request.members = [MemberIdentity(self._member_id, reason="the worker stopped")]
                Coordinators(cluster).request(self.group_id, request, LeaveGroupResponse)
        if not self._thread.is_alive():
            self._cluster.close()
        self._watchdog.join(2.0)

    def _new_cluster(self) -> Cluster:
        return Cluster(
            self._clients.bootstrap,
            client_id=self._clients.client_id,
            timeout_s=self._clients.timeout_s,
            security=self._clients.security,
        )

    def _run(self) -> None:
        foreign_since_s: float | None = None
        while not self._closing.is_set():
            try:
                if self._is_member:
                    self._closing.wait(self._interval_s)
                    if not self._closing.is_set():
                        self._heartbeat()
                else:
                    self._join()
                foreign_since_s = None
            except ConnectionFailed as error:
                self._try_later(error)
            except ApiError as error:
                if error.code in _FOREIGN:
                    # A worker that was killed stays a member until its session ends.
                    now_s = time.monotonic()
                    foreign_since_s = foreign_since_s or now_s
                    if now_s > foreign_since_s + self._rebalance_timeout_ms / 1000:
                        self._fail(error)
                        return
                elif error.code in _EXPELLED:
                    self._lose()
                elif not error.code.retriable:
                    self._fail(error)
                    return
                self._try_later(error)
            except Exception as error:
                log.exception("The group of workers cannot be kept up")
                self._fail(error)
                return

    def _try_later(self, error: Exception) -> None:
        if not self._closing.is_set():
            log.warning("Group %s of workers: %s; trying again", self.group_id, error)
        self._coordinators.forget(self.group_id)
        self._closing.wait(_BACKOFF_S)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, ApiError) and error.code in _FOREIGN:
            message = (
                f"group {self.group_id} is in use by members that are not Moldau's workers, such "
                "as a worker of Apache Kafka: stop them, or choose another group.id"
            )
            error = ApiError(error.code, message)
        self._lose()
        self._on_failed(error)

    def _join(self) -> None:
        """One rebalance; afterwards this worker knows its standing."""
        joined = self._ask_to_join()
        self._generation = joined.generation_id
        assignments: list[SyncGroupRequestAssignment] = []
        if joined.leader == self._member_id:
            members = [(each.member_id, bytes(each.metadata)) for each in joined.members]
            told = encode_assignment(self._member_id, members)
            assignments = [SyncGroupRequestAssignment(each, told) for each, _ in members]
        request = SyncGroupRequest(
            self.group_id,
            joined.generation_id,
            self._member_id,
            None,
            PROTOCOL_TYPE,
            PROTOCOL_NAME,
            assignments,
        )
        sent_s = time.monotonic()
        try:
            connection = self._coordinators.connection(self.group_id)
            response = connection.request(request, SyncGroupResponse)
            raise_for(response.error_code, None, f"assignment of group {self.group_id}")
        except ApiError as error:
            self._on_refused(error)
            return
        standing = decode_assignment(
            bytes(response.assignment), joined.generation_id, self._member_id
        )
        self._is_member = True
        self._take(standing, sent_s)

    def _ask_to_join(self) -> JoinGroupResponse:
        connection = self._coordinators.connection(self.group_id)
        connection.set_timeout(self._rebalance_timeout_ms / 1000 + _MARGIN_S)
        while True:
            request = JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=self._session_timeout_ms,
                rebalance_timeout_ms=self._rebalance_timeout_ms,
                member_id=self._member_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=[JoinGroupRequestProtocol(PROTOCOL_NAME, encode_member(self._url))],
            )
            response = connection.request(request, JoinGroupResponse)
            if response.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
            self._member_id = response.member_id
        if response.error_code in _EXPELLED:
            self._member_id = ""
        raise_for(response.error_code, None, f"joining group {self.group_id}")
        self._member_id = response.member_id
        return response

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(self.group_id, self._generation, self._member_id, None)
        sent_s = time.monotonic()
        try:
            connection = self._coordinators.connection(self.group_id)
            # An answer that comes later than this extends no lease.
            connection.set_timeout(self._lease_s)
            response = connection.request(request, HeartbeatResponse)
            raise_for(response.error_code, None, f"heartbeat of group {self.group_id}")
        except ApiError as error:
            if error.code is ErrorCode.REBALANCE_IN_PROGRESS:
                # The coordinator counts it: this worker has as long to join again.
                self._extend(sent_s)
            self._on_refused(error)
        else:
            self._extend(sent_s)

    def _on_refused(self, error: ApiError) -> None:
        """Join again, and stop first if others may be active already."""
        if error.code in _EXPELLED:
            self._lose()
            self._member_id = ""
        elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
            raise error
        self._is_member = False

    def _take(self, standing: Standing, sent_s: float) -> None:
        with self._lock:
            was_active = self._standing is not None and self._standing.is_active
            self._standing = standing
            self._has_joined = True
            self._lease_until_s = sent_s + self._lease_s
        self._renewed.set()
        role = "active" if standing.is_active else f"standing by for {standing.active_url}"
        log.info("Generation %s of group %s: %s", standing.generation, self.group_id, role)
        if was_active and not standing.is_active:
            self._on_lost()
        self._on_change()

    def _extend(self, sent_s: float) -> None:
        with self._lock:
            standing = self._standing
            if time.monotonic() < self._lease_until_s:
                self._lease_until_s = sent_s + self._lease_s
                return
        # The lease has ended meanwhile, but the coordinator waited: connectors may start again.
        if standing is None and self._is_member:
            self._is_member = False

    def _watch(self) -> None:
        """Call ``on_lost`` as soon as the lease of an active worker ends."""
        while not self._closing.is_set():
            with self._lock:
                standing, until_s = self._standing, self._lease_until_s
            if standing is None:
                self._renewed.wait()
                self._renewed.clear()
                continue
            remaining_s = until_s - time.monotonic()
            if remaining_s > 0:
                self._closing.wait(remaining_s)
            else:
                self._lose()

    def _lose(self) -> None:
        with self._lock:
            standing, self._standing = self._standing, None
        if standing is None:
            return
        log.warning("Group %s of workers is lost", self.group_id)
        if standing.is_active:
            self._on_lost()
        self._on_change()
