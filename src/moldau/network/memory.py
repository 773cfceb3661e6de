"""Telling the C library to keep memory that large requests will need again.

A request of 256 KB is received into fresh memory and freed when it has been written to
the log. By default glibc gives such memory back to the kernel and the next request has
to touch new pages, which costs several times what receiving costs: on a virtual machine
350 MB/s instead of 1,500. So a broker raises the thresholds once, when it starts.
"""

TRIM_THRESHOLD_BYTES = 32 * 1024 * 1024
MMAP_THRESHOLD_BYTES = 16 * 1024 * 1024

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> bool:
    """Keep up to ``TRIM_THRESHOLD_BYTES`` of freed memory in the process; whether that worked.

    Blocks above ``MMAP_THRESHOLD_BYTES`` still go back to the kernel at once. C libraries
    other than glibc have no such switch, and nothing happens there.
    """
    import ctypes  # here, because only a broker needs it

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)
    mapped = mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
    return bool(kept and mapped)
