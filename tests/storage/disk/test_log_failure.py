"""The meaning of an ``OSError``: a failed disk, or a temporary shortage."""

import errno
import logging

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.storage.disk.log_failure import NoRoom, storage_error


@pytest.mark.parametrize(
    ("number", "in_fsync", "has_failed"),
    [
        (errno.EIO, False, True),
        (errno.ENOSPC, False, False),
        # The kernel may have dropped what it could not write.
        (errno.ENOSPC, True, True),
        (errno.EMFILE, False, False),
        (errno.ENFILE, False, False),
        # Not even opened: nothing was dropped.
        (errno.EMFILE, True, False),
    ],
)
def test_only_a_disk_that_failed_goes_offline(
    number: int, in_fsync: bool, has_failed: bool
) -> None:
    failures: list[str] = []
    error = storage_error(
        OSError(number, "reason"),
        "appending to t-0",
        "/data",
        lambda log_dir, doing, error: failures.append(log_dir),
        NoRoom(ManualClock()),
        in_fsync=in_fsync,
    )
    assert error.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert failures == (["/data"] if has_failed else [])


def test_what_passes_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    no_room = NoRoom(clock)
    full, too_many = OSError(errno.ENOSPC, "full"), OSError(errno.EMFILE, "too many open files")
    for _ in range(3):
        no_room.tell("/data", "appending to t-0", full)
        no_room.tell("/data", "appending to t-0", too_many)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]
    assert "ulimit -n" in caplog.text
    clock.advance(60_000)
    no_room.tell("/data", "appending to t-0", full)
    assert len(caplog.records) == 3
