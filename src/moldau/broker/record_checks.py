"""Validates batches in threads if that takes too long for the event loop.

A batch of a few kilobytes may contain a hundred megabytes of records, and a topic may require the
highest compression level. A thread does that work; the codecs and the record kernel release the
GIL. The batch has no offset yet: it is appended only after it has been validated.

There are few threads, and each processes one batch at a time, in chunks. That also bounds the
memory: a thread holds a chunk of the decompressed records, or the largest record, and the
recompressed batch, which is at most ``max.message.bytes``.
"""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

from moldau.config.topic import LogConfig
from moldau.record.produced import ProducedBatch
from moldau.record.validator import validate_produced

THREADS: Final = 2


class RecordChecks:
    """The validation threads of one broker. To be used on its event loop."""

    def __init__(self, executor: Executor | None = None) -> None:
        """Without an executor it starts its own threads, when they are first needed."""
        self._is_own = executor is None
        self._executor = executor or ThreadPoolExecutor(THREADS, thread_name_prefix="moldau-check")

    async def check(
        self, records: memoryview | bytes, config: LogConfig, wall_ms: int
    ) -> ProducedBatch:
        """The batch, validated and converted for its topic (``validate_produced``).

        Raises:
            ApiError: the batch is refused.
        """
        checked = self._executor.submit(validate_produced, records, config, wall_ms)
        return await asyncio.wrap_future(checked)

    def stop(self) -> None:
        """Return when its own threads have ended; pending batches are dropped."""
        if self._is_own:
            self._executor.shutdown(cancel_futures=True)
