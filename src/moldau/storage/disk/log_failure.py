"""How an ``OSError`` is reported to clients and operators.

A full disk may have space later, and a process at its limit of open files may close some: the
request fails, the log is unchanged, and the next append may succeed. Neither says anything about
the data on the disk. After any other error the state of the disk is unknown, so the whole log
directory goes offline (KIP-112): clients get KAFKA_STORAGE_ERROR and look for another leader, and
the process continues.

A failed fsync always takes the directory offline, even if the disk is full: the kernel may have
dropped the pages it could not write, and the next fsync would succeed without them.
"""

import errno
import logging
from collections.abc import Callable
from typing import Final

from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode

# Directory, operation, and error. May be called from another thread.
FailureHandler = Callable[[str, str, OSError], None]

_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_NO_DESCRIPTORS: Final = frozenset((errno.EMFILE, errno.ENFILE))
# Otherwise every append to a full disk would be logged.
_NO_ROOM_SAID_FOR_MS: Final = 60_000

_log = logging.getLogger(__name__)


def is_no_room(error: OSError) -> bool:
    """Whether the disk, or a quota on it, is full."""
    return error.errno in _NO_ROOM


def is_out_of_descriptors(error: OSError) -> bool:
    """Whether the process, or the machine, has reached its limit of open files."""
    return error.errno in _NO_DESCRIPTORS


def is_passing(error: OSError) -> bool:
    """Whether a retry may succeed later with the same disk."""
    return is_no_room(error) or is_out_of_descriptors(error)


class NoRoom:
    """Logs full disks and missing descriptors, each at most once a minute."""

    __slots__ = ("_clock", "_said_until_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_until_ms: dict[str, int] = {}

    def tell(self, log_dir: str, doing: str, error: OSError) -> None:
        """Log ``error``, for which ``is_passing`` is true."""
        now_ms = self._clock.monotonic_ms()
        kind = "" if is_no_room(error) else "descriptors"
        if now_ms < self._said_until_ms.get(log_dir + kind, 0):
            return
        self._said_until_ms[log_dir + kind] = now_ms + _NO_ROOM_SAID_FOR_MS
        if kind:
            _log.error(
                "%s while %s in %s: clients get KAFKA_STORAGE_ERROR until files or connections "
                "are closed. Remedy: raise the limit of open files (ulimit -n)",
                error.strerror,
                doing,
                log_dir,
            )
        else:
            _log.error(
                "No room on the disk of %s while %s: clients get KAFKA_STORAGE_ERROR until there "
                "is. Remedy: lower retention.ms or retention.bytes, or move replicas to another "
                "directory",
                log_dir,
                doing,
            )


def storage_error(
    error: OSError,
    doing: str,
    log_dir: str,
    on_failure: FailureHandler | None,
    no_room: NoRoom,
    *,
    in_fsync: bool = False,
) -> ApiError:
    """Return the error for the client; calls ``on_failure`` if the directory must go offline."""
    if is_no_room(error) and not in_fsync:
        no_room.tell(log_dir, doing, error)
        message = f"no room on the disk of {log_dir} while {doing}: free some and try again"
    elif is_out_of_descriptors(error):
        no_room.tell(log_dir, doing, error)
        message = f"the broker may open no more files, while {doing}: try again"
    else:
        message = f"{log_dir} failed while {doing}: {error}"
        if on_failure is not None:
            on_failure(log_dir, doing, error)
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message)
