"""Verification of transactions before their first append to a partition (KIP-890).

A transactional batch is appended only if the coordinator knows that the partition is part of the
transaction: otherwise no marker would ever end it, and readers would wait forever. The question to
the coordinator takes time, in which the transaction may end. So it begins with a guard: whoever
asks keeps it, and the append must present the same one. A marker takes the guard away, and a later
question gets another, so an answer about a transaction that has ended is of no use (ABA).

Rules this module keeps:

* At most one guard per producer is valid. The first batch of the transaction uses it up.
* While a guard is valid, only the lowest sequence that was seen may be appended. Otherwise, if the
  verification of a batch fails and that of the next one succeeds, the first could never follow.
* From transaction version 2 on, a producer without state begins with sequence 0: it has a new
  epoch in each transaction, so there is nothing that retention could have removed.
"""

from typing import Final

from moldau.errors import ApiError, ErrorCode


class VerificationGuard:
    """The verification of one producer, from the question until the first append."""

    __slots__ = ("begun_ms", "epoch", "lowest_sequence", "supports_epoch_bump")

    def __init__(
        self, begun_ms: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> None:
        self.begun_ms = begun_ms
        self.lowest_sequence = sequence
        self.epoch = epoch
        # Whether the client speaks transaction version 2.
        self.supports_epoch_bump = supports_epoch_bump


# For appends that need no verification: it is switched off, or the batch was verified elsewhere.
NOT_REQUIRED: Final = VerificationGuard(0, 0, 0, supports_epoch_bump=False)


class Verifications:
    """The guards of one partition, by producer id."""

    __slots__ = ("guards",)

    def __init__(self) -> None:
        self.guards: dict[int, VerificationGuard] = {}

    def begin(
        self,
        producer_id: int,
        sequence: int,
        epoch: int,
        wall_ms: int,
        *,
        supports_epoch_bump: bool,
    ) -> VerificationGuard:
        """The valid guard of the producer, or a new one."""
        guard = self.guards.get(producer_id)
        if guard is None:
            guard = VerificationGuard(
                wall_ms, sequence, epoch, supports_epoch_bump=supports_epoch_bump
            )
            self.guards[producer_id] = guard
        elif epoch > guard.epoch:
            guard.epoch = epoch
            guard.lowest_sequence = sequence
        elif epoch == guard.epoch and sequence < guard.lowest_sequence:
            guard.lowest_sequence = sequence
        return guard

    def problem(
        self, producer_id: int, sequence: int, presented: VerificationGuard | None, *, is_new: bool
    ) -> ApiError | None:
        """Why the first batch of a transaction must not be appended; None if it may.

        ``is_new`` says that no batch of the producer is known, in any epoch that still counts. A
        batch of a coordinator has no sequence (-1).
        """
        guard = self.guards.get(producer_id)
        if presented is not NOT_REQUIRED and (guard is None or presented is not guard):
            return ApiError(
                ErrorCode.INVALID_TXN_STATE,
                "the batch is not part of an ongoing transaction: begin one and send it again",
            )
        if guard is None or sequence < 0:
            return None
        if guard.supports_epoch_bump and is_new and sequence != 0:
            expected = "0, because nothing is known of this producer"
        elif sequence > guard.lowest_sequence:
            expected = f"{guard.lowest_sequence}, the lowest one that was sent"
        else:
            return None
        message = f"producer {producer_id} sent sequence {sequence}: expected {expected}"
        return ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)

    def on_data(self, producer_id: int) -> None:
        """A batch of the transaction was appended: from now on its state is known here."""
        self.guards.pop(producer_id, None)

    def on_marker(self, producer_id: int, epoch: int) -> None:
        """A transaction has ended, and what was said about it does not hold any more.

        From version 2 on, the marker has the epoch of the next transaction: a guard of that epoch
        belongs to the next one, and stays.
        """
        guard = self.guards.get(producer_id)
        if guard is not None and not (guard.supports_epoch_bump and guard.epoch == epoch):
            del self.guards[producer_id]

    def expire(self, wall_ms: int, expiration_ms: int) -> None:
        """Remove guards of verifications that have never ended."""
        expired = [
            producer_id
            for producer_id, guard in self.guards.items()
            if wall_ms - guard.begun_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self.guards[producer_id]
