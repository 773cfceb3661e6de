"""Ends this process when the one that started it ends, however that happens.

``moldau cluster start`` starts its nodes with this. Being told by the kernel cannot be missed, as a
message from the parent could: a process that is killed sends none. A node that is paused (SIGSTOP)
is continued when its parent ends, because its process group then belongs to nobody (POSIX).
"""

import os
import signal
import sys
import threading
import time
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_POLL_S: Final = 1.0


def end_with(parent_pid: int) -> None:
    """Send this process SIGTERM when its parent ends; at once if it has ended already."""
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    else:
        threading.Thread(target=_watch, args=(parent_pid,), daemon=True).start()
    if os.getppid() != parent_pid:
        # Before this process could ask to be told.
        os.kill(os.getpid(), signal.SIGTERM)


def _watch(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
