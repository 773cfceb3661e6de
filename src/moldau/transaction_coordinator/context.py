"""What the transaction coordinator must know about a request besides its body."""

from typing import Final, NamedTuple

# The last version of AddPartitionsToTxn that clients send; brokers send later ones (KIP-890).
LAST_CLIENT_ADD_PARTITIONS: Final = 3


class TransactionContext(NamedTuple):
    """The version of the request, which also tells which transaction protocol a client speaks."""

    api_version: int
    # To add partitions has the same result for all of them; it is replied only once.
    has_one_result: bool = False


def add_offsets_context(api_version: int) -> TransactionContext:
    """The context of AddOffsetsToTxn, which is handled as AddPartitionsToTxn.

    Only clients that do not speak transaction version 2 send it, in all its versions.
    """
    return TransactionContext(min(api_version, LAST_CLIENT_ADD_PARTITIONS))
