"""A limit for the memory of a process that runs a connector's code.

Above it Python raises MemoryError in that connector, before the machine runs out of memory and the
kernel picks a process to kill.
"""

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

MEMORY: Final = "moldau.task.memory.mb"
_DEFAULT_MB: Final = 2048
_REPORT_BYTES: Final = 64 << 20


def memory_mb(*settings: Mapping[str, str]) -> int:
    """The limit by the first of ``settings`` that has one; 0 for none."""
    for each in settings:
        if MEMORY in each:
            return int(each[MEMORY])
    return _DEFAULT_MB


@contextmanager
def memory_limit(limit_mb: int) -> Iterator[None]:
    """Limit this process's data within the block.

    Raises:
        MemoryError: the block needs more; it names the setting.
    """
    before = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        try:
            limit_memory(limit_mb)
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, before)
    except MemoryError as error:
        raise exceeded(limit_mb) from error


def limit_memory(limit_mb: int) -> None:
    """Limit this process's data from now on; not at all if ``limit_mb`` is 0."""
    if limit_mb <= 0:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limit_mb << 20
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def allow_a_report() -> None:
    """Let a process that may be at its limit say why it ends. What fills it goes on doing so in
    another thread, perhaps, so the limit is moved and not removed.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft >= 0:
        wanted = soft + _REPORT_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def exceeded(limit_mb: int) -> MemoryError:
    """The reason of a task that ends at its limit."""
    return MemoryError(f"this connector needs more memory than {MEMORY}={limit_mb}")
