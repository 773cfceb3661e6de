"""One flush for all concurrent writers.

An fsync costs as much for one change as for a hundred. So a flush covers everything that was
written before it began; writers that arrive while it runs share the next one.

Rules this module keeps:

* There is one flush at a time, and the first starts at the end of the turn of the loop: other
  handlers of that turn may append more.
* ``on_flushed`` is called before the waiting writers continue.
* After a failed flush the state of the device is unknown: current and later writers get the
  error. No writer waits forever, whatever fails.
* With ``can_retry``, a flush that could not even begin (there is no room for the leader epochs,
  or no descriptor to open a file) is not such a failure: current writers get the error, later ones
  try again.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from moldau.errors import ApiError, ErrorCode
from moldau.storage.disk.log_failure import is_out_of_descriptors
from moldau.storage.log.partition_log import PartitionLog


class SharedFlush:
    """The flushes of one log. To be used on one event loop."""

    def __init__(
        self,
        log: PartitionLog,
        on_flushed: Callable[[int], None],
        on_failure: Callable[[BaseException], None],
        *,
        can_retry: bool = False,
    ) -> None:
        """``on_flushed`` is called with the offset up to which the log is durable."""
        self._log = log
        self._when_flushed = on_flushed
        self._when_failed = on_failure
        self._can_retry = can_retry
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._requested = 0
        # Up to where the flush counts that is under way.
        self._flushing_to = 0
        self._is_flushing = False
        self._failure: BaseException | None = None

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def check(self) -> None:
        """Raises the error of a failed flush, if there was one."""
        if self._failure is not None:
            raise self._failure

    async def wait(self) -> None:
        """Return when the log up to its current end is durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, or another error of the flush.
        """
        self.check()
        await self.begin()

    def begin(self) -> "asyncio.Future[None]":
        """Start or join a flush; the future is done when the current log end is durable."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            done.set_exception(self._failure)
            return done
        self._waiting.append((self._log.log_end_offset, done))
        self._schedule()
        return done

    def request(self) -> None:
        """Like ``begin``, for a caller that only waits for ``on_flushed``."""
        if self._failure is None:
            self._requested = self._log.log_end_offset
            self._schedule()

    def truncated(self, end_offset: int) -> None:
        """The log ends at ``end_offset`` now; what is beyond it cannot be waited for.

        Nor does a flush that is under way count for what will be written there.
        """
        self._waiting = deque((min(offset, end_offset), done) for offset, done in self._waiting)
        self._requested = min(self._requested, end_offset)
        self._flushing_to = min(self._flushing_to, end_offset)

    def _schedule(self) -> None:
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing_to = self._log.log_end_offset
        try:
            pending = self._log.flush_in_background()
        except Exception as error:
            self._on_failure(error, is_final=not self._can_retry)
            return
        if pending is None:
            self._on_flushed(self._flushing_to)
            return
        waited: asyncio.Future[object] = asyncio.wrap_future(pending)  # type: ignore[arg-type]
        waited.add_done_callback(self._on_done)

    def _on_done(self, future: "asyncio.Future[object]") -> None:
        if future.cancelled():
            self._on_failure(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "the flush was cancelled"))
            return
        error = future.exception()
        if error is None:
            self._on_flushed(self._flushing_to)
        else:
            self._on_failure(error, is_final=not (self._can_retry and _is_passing(error)))

    def _on_flushed(self, end_offset: int) -> None:
        try:
            self._when_flushed(end_offset)
        except Exception as error:
            self._on_failure(error)
            raise
        while self._waiting and self._waiting[0][0] <= end_offset:
            _, done = self._waiting.popleft()
            if not done.done():
                done.set_result(None)
        if self._waiting or self._requested > end_offset:
            self._flush()
        else:
            self._is_flushing = False

    def fail(self, error: BaseException) -> None:
        """Flush no more: current and later writers get the error."""
        if self._failure is None:
            self._on_failure(error)

    def _on_failure(self, error: BaseException, *, is_final: bool = True) -> None:
        self._when_failed(error)
        if isinstance(error, OSError):
            error = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        if is_final:
            self._failure = error
        else:
            self._is_flushing = False
        while self._waiting:
            _, done = self._waiting.popleft()
            if not done.done():
                done.set_exception(error)


def _is_passing(error: BaseException) -> bool:
    """Whether a file could not be opened: the device has not failed, and stays online."""
    cause = error.__cause__
    return isinstance(cause, OSError) and is_out_of_descriptors(cause)
