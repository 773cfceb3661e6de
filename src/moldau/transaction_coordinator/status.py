"""The states of a transactional id, and the one table of the transitions between them.

A transaction is decided by a single record, Prepare*. What follows (the markers, then Complete*)
only carries the decision out, and is carried out again after a crash. PrepareEpochFence is a step
within one decision and is never written; Dead is written as a tombstone.
"""

import enum
from typing import Final


class TransactionStatus(enum.IntEnum):
    """The values are those of the records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


_S = TransactionStatus
_BY_VALUE: Final = tuple(TransactionStatus)


def status_of(value: int) -> TransactionStatus:
    """The state with this number, as ``TransactionStatus(value)``, which takes half a microsecond.

    Raises:
        ValueError: no state has it.
    """
    return _BY_VALUE[value] if 0 <= value < len(_BY_VALUE) else TransactionStatus(value)


VALID_PREVIOUS: Final[dict[TransactionStatus, tuple[TransactionStatus, ...]]] = {
    _S.EMPTY: (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT),
    _S.ONGOING: (_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT),
    _S.PREPARE_COMMIT: (_S.ONGOING,),
    # From the last three only with transaction version 2: the client may not know whether its
    # transaction has begun (KIP-890).
    _S.PREPARE_ABORT: (
        _S.ONGOING,
        _S.PREPARE_EPOCH_FENCE,
        _S.EMPTY,
        _S.COMPLETE_COMMIT,
        _S.COMPLETE_ABORT,
    ),
    _S.COMPLETE_COMMIT: (_S.PREPARE_COMMIT,),
    _S.COMPLETE_ABORT: (_S.PREPARE_ABORT,),
    _S.DEAD: (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT),
    _S.PREPARE_EPOCH_FENCE: (_S.ONGOING,),
}

PREPARED: Final = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)
# No transaction is open: the id may begin one, be initialized, or expire.
AT_REST: Final = VALID_PREVIOUS[_S.DEAD]

# As administrators see them.
STATE_NAMES: Final[dict[TransactionStatus, str]] = {
    _S.EMPTY: "Empty",
    _S.ONGOING: "Ongoing",
    _S.PREPARE_COMMIT: "PrepareCommit",
    _S.PREPARE_ABORT: "PrepareAbort",
    _S.COMPLETE_COMMIT: "CompleteCommit",
    _S.COMPLETE_ABORT: "CompleteAbort",
    _S.DEAD: "Dead",
    _S.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
