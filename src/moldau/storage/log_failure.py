"""From an ``OSError`` to what clients and operators see of it.

A disk that is full will have room again: the request fails, the log stays as it was,
and the next append may succeed. Anything else that a disk refuses means that nobody
can say what is on it, so its whole log directory goes offline (KIP-112): clients get
KAFKA_STORAGE_ERROR, look for another leader, and the process lives on.

A failed fsync is always of that kind, a full disk or not: the kernel may have dropped the
pages it could not write, and the next fsync would succeed without them.
"""

import errno
from collections.abc import Callable
from typing import Final

from moldau.errors import ApiError, ErrorCode

# Directory, what was being done, and the error. May be called from another thread.
FailureHandler = Callable[[str, str, OSError], None]

_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


def is_no_room(error: OSError) -> bool:
    """Whether the disk, or a quota on it, is full."""
    return error.errno in _NO_ROOM


def storage_error(
    error: OSError,
    doing: str,
    log_dir: str,
    on_failure: FailureHandler | None,
    *,
    in_fsync: bool = False,
) -> ApiError:
    """The error for the client; ``on_failure`` is told unless the disk is merely full."""
    if is_no_room(error) and not in_fsync:
        message = f"no room on the disk of {log_dir} while {doing}: free some and try again"
    else:
        message = f"{log_dir} failed while {doing}: {error}"
        if on_failure is not None:
            on_failure(log_dir, doing, error)
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message)
