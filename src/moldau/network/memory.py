"""Makes the C library keep freed memory, which the next large request will need.

A request of 256 KB is received into newly allocated memory, which is freed after the append. By
default glibc returns such memory to the kernel, and the next request has to touch new pages, which
costs several times as much as receiving it: on a virtual machine, 350 MB/s instead of 1,500. So a
broker raises the thresholds once, when it starts.
"""

TRIM_THRESHOLD_BYTES = 32 * 1024 * 1024
MMAP_THRESHOLD_BYTES = 16 * 1024 * 1024

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> bool:
    """Keep up to ``TRIM_THRESHOLD_BYTES`` of freed memory; returns whether that is supported.

    Blocks above ``MMAP_THRESHOLD_BYTES`` are still returned to the kernel immediately. C libraries
    other than glibc do not support this; nothing is changed there.
    """
    import ctypes  # here, because only a broker needs it

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)
    mapped = mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
    return bool(kept and mapped)
