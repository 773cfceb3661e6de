"""The answer to a request that reads or changes the state of coordinators.

The state of a shard may be ahead of what is committed (``hosted_shard``), so an answer that was
computed from it waits until that is committed. A request may involve several shards, and may be
handled in several steps; the answer waits once, at the end, for all of them.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from moldau.broker.commit_queue import Commitment
from moldau.broker.hosted_shard import HostedShard, as_coordinator_error
from moldau.errors import ApiError, ErrorCode

R = TypeVar("R")
Refuse = Callable[[ErrorCode], None]


class CommittedAnswer:
    """Collects what an answer depends on, while it is computed."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[Commitment, Refuse | None]] | None = None

    def depends_on(self, hosted: HostedShard[Any], refuse: Refuse | None = None) -> None:
        """To be called in the same turn in which the state of ``hosted`` was read or changed.

        If that state is lost, ``refuse`` is called to replace this part of the answer with an
        error; without it, the error is that of the whole answer.
        """
        commitment = hosted.committed()
        if commitment is not None:
            if self._waiting is None:
                self._waiting = []
            self._waiting.append((commitment, refuse))

    def send(self, answer: R | Awaitable[R]) -> R | Awaitable[R]:
        """``answer`` itself if nothing has to wait, or an awaitable of it."""
        if hasattr(answer, "encode_parts"):
            if self._waiting is None:
                return answer
            return self._committed(answer)
        return self._completed(answer)

    async def send_later(self, answer: R) -> R:
        """``answer``, when all that it depends on is committed."""
        await self._committed(answer)
        return answer

    async def _completed(self, answer: Any) -> Any:
        return await self._committed(await answer)

    async def _committed(self, answer: Any) -> Any:
        for commitment, refuse in self._waiting or ():
            error = await commitment
            if error is None or _is_committed(error):
                continue
            error = as_coordinator_error(error)
            if refuse is None:
                raise error
            refuse(error.code)
        return answer


async def when_committed(answer: R, commitment: Commitment) -> R:
    """``answer``, which depends on the state of one shard only.

    Raises:
        ApiError: that state is lost.
    """
    error = await commitment
    if error is not None and not _is_committed(error):
        raise as_coordinator_error(error)
    return answer


def _is_committed(error: ApiError) -> bool:
    """Below the high watermark it is committed, however many replicas are in sync now."""
    return error.code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
