"""An app runs once on a cluster, wherever its checkpoints are.

Two runs of an app from different checkpoints would write everything twice, and to the same internal
topics. So a run is the member of a consumer group that has no topics: the coordinator knows that it
lives by its heartbeats, and another run sees it there. A run on the same checkpoints is not refused
here: the lock beside those (``run_lock``) knows at once that a run was killed, and the coordinator
only when heartbeats have failed to come for some time.
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

# How long a run that was killed is taken to be alive.
SESSION_MS: Final = 10_000
_HEARTBEAT_MS: Final = 3_000
# What the coordinator may take beyond that to find out.
_MARGIN_S: Final = 3.0
_POLL_S: Final = 0.5
_LEAVING_S: Final = 5.0
_NOT_ALLOWED: Final = frozenset(
    (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
)


def claim_group(app: str) -> str:
    """The group that the run of an app is a member of."""
    # Groups of queries have a dash behind the name of the app.
    return f"{app}.running"


class RunClaim:
    """The claim of one run: who it is, for others to read."""

    def __init__(self, bootstrap: str, security: "Security", app: str, checkpoint_dir: str) -> None:
        self._bootstrap = bootstrap
        self._security = security
        self._app = app
        # It is what the coordinator shows of a member.
        self._identity = f"{checkpoint_dir} on {socket.gethostname()}"
        self._ended = threading.Event()

    def require_alone(self, admin: Admin, stopping: threading.Event) -> None:
        """Wait for a run that may have been killed to be forgotten.

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
        """Within this block others see that the app runs."""
        thread = threading.Thread(target=self._hold, name="moldau-claim", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(_LEAVING_S)

    def _other(self, admin: Admin) -> str | None:
        """Another run that is alive, if there is one."""
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
                # The brokers are away, or do not allow it. The app itself says so where it matters.
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
