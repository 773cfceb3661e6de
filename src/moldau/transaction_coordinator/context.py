"""What the transaction coordinator must know about a request besides its body."""

from typing import Final

# The last version of AddPartitionsToTxn that clients send; brokers send later ones (KIP-890).
LAST_CLIENT_ADD_PARTITIONS: Final = 3


class TransactionContext:
    """The version of the request, which also tells which transaction protocol a client speaks."""

    __slots__ = ("api_version", "has_one_result")

    def __init__(self, api_version: int, has_one_result: bool = False) -> None:
        self.api_version = api_version
        # To add partitions has the same result for all of them; it is replied only once.
        self.has_one_result = has_one_result


def add_offsets_context(api_version: int) -> TransactionContext:
    """The context of AddOffsetsToTxn, which is handled as AddPartitionsToTxn.

    Only clients that do not speak transaction version 2 send it, in all its versions.
    """
    return TransactionContext(min(api_version, LAST_CLIENT_ADD_PARTITIONS))
