"""Only one run of an app on a cluster, wherever its checkpoints are.

Two runs of an app from different checkpoints would write everything twice, and to the same internal
topics. So each run joins a consumer group without topics: its heartbeats tell the coordinator that
it is alive, and another run sees it as a member. A run on the same checkpoints is not refused here:
the lock next to them (``run_lock``) is released at once if a run is killed, but the coordinator
notices it only after the session timeout.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from moldau.client.admin import Admin
from moldau.client.connection import ConnectionFailed
from moldau.client.group_admin import GroupAdmin
from moldau.client.group_consumer import GroupConsumer
from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from moldau.client.security import Security

# How long a killed run is considered alive.
SESSION_MS: Final = 10_000
_HEARTBEAT_MS: Final = 3_000
# The time that the coordinator may need beyond that to remove it.
_MARGIN_S: Final = 3.0
_POLL_S: Final = 0.5
_LEAVING_S: Final = 5.0
_NOT_ALLOWED: Final = frozenset(
    (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
)


def claim_group(app: str) -> str:
    """The consumer group that a run of an app joins."""
    # The groups of queries have a dash after the name of the app.
    return f"{app}.running"


class RunClaim:
    """The claim of one run, which identifies it to others."""

    def __init__(self, bootstrap: str, security: "Security", app: str, checkpoint_dir: str) -> None:
        self._bootstrap = bootstrap
        self._security = security
        self._app = app
        # Used as the client id, which the coordinator shows for a member.
        self._identity = f"{checkpoint_dir} on {socket.gethostname()}"
        self._ended = threading.Event()

    def require_alone(self, admin: Admin, stopping: threading.Event) -> None:
        """Wait until the session of a run that may have been killed has expired.

        Raises:
            PipelineError: a run on other checkpoints is alive.
        """
        deadline_s = time.monotonic() + SESSION_MS / 1000 + _MARGIN_S
        while (other := self._other(admin)) is not None and not stopping.is_set():
            if time.monotonic() > deadline_s:
                raise PipelineError(
                    f"{self._app} is running already, from the checkpoints in {other}: a second "
                    "run would write everything twice. Stop it first, or give this app another name"
                )
            stopping.wait(_POLL_S)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be a member of the group in this block, so that others see the run."""
        thread = threading.Thread(target=self._hold, name="moldau-claim", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(_LEAVING_S)

    def _other(self, admin: Admin) -> str | None:
        """The identity of another run that is alive; None if there is none."""
        try:
            group = GroupAdmin(admin.cluster).describe(claim_group(self._app))
        except ApiError as error:
            if error.code is ErrorCode.GROUP_ID_NOT_FOUND or error.code in _NOT_ALLOWED:
                return None
            raise
        others = [each.client_id for each in group.members if each.client_id != self._identity]
        return others[0] if others else None

    def _hold(self) -> None:
        while not self._ended.is_set():
            try:
                self._be_member()
            except (ApiError, ConnectionFailed):
                # The brokers are unavailable or refuse it. The app reports that where it matters.
                self._ended.wait(_HEARTBEAT_MS / 1000)

    def _be_member(self) -> None:
        consumer = GroupConsumer(
            self._bootstrap,
            claim_group(self._app),
            (),
            client_id=self._identity,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            commit_interval_ms=None,
            security=self._security,
        )
        with consumer:
            while not self._ended.wait(_POLL_S):
                consumer.poll(0)
