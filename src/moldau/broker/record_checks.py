"""Where batches are looked into that take longer than the event loop has time for.

A batch of a few kilobytes may hold a hundred megabytes of records, and a topic may want them
compressed at the highest level. A thread does that; its codecs and the record kernel let the event
loop run meanwhile. The batch has no offset yet: only what was found right is appended.

There are few threads, and each works on one batch at a time, piece by piece. That bounds the memory
as well: a thread holds a piece of the unpacked records, or the largest record among them, and what
it writes anew, which is no more than ``max.message.bytes``.
"""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

from moldau.config.topic import LogConfig
from moldau.record.produced import ProducedBatch
from moldau.record.validator import validate_produced

THREADS: Final = 2


class RecordChecks:
    """The threads of one broker. Everything but the checks belongs to its event loop."""

    def __init__(self, executor: Executor | None = None) -> None:
        """Threads of its own, if none are given, are started when they are first needed."""
        self._is_own = executor is None
        self._executor = executor or ThreadPoolExecutor(THREADS, thread_name_prefix="moldau-check")

    async def check(
        self, records: memoryview | bytes, config: LogConfig, now_ms: int
    ) -> ProducedBatch:
        """The batch, checked and made to fit its topic (``validate_produced``).

        Raises:
            ApiError: it is refused.
        """
        checked = self._executor.submit(validate_produced, records, config, now_ms)
        return await asyncio.wrap_future(checked)

    def stop(self) -> None:
        """Return when its own threads have ended; what has not begun is not done any more."""
        if self._is_own:
            self._executor.shutdown(cancel_futures=True)
