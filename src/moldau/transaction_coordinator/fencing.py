"""The error code of a fenced producer, which depends on what its client knows."""

from moldau.errors import ApiError, ErrorCode


def error_code(error: ApiError, *, knows_fenced: bool) -> int:
    """The code of ``error`` for a client; old ones expect INVALID_PRODUCER_EPOCH (KIP-588)."""
    if error.code is ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return int(error.code)
