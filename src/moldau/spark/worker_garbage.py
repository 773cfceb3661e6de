"""Spares Spark's Python workers the search for garbage among what they never release.

PySpark collects garbage after each task, in the process that ran it: Python looks at every object
of every module that was imported, some 90,000. That takes 25 to 50 ms of a core, several times as
long as a small task itself. After the first task of a process these objects are frozen: collections
pass over them from then on.
"""

import gc
import os
import sys
from typing import Final

_DAEMON: Final = "pyspark.daemon"
# The process in which it is done: a forked process begins with the memory of its parent.
_process = 0


def freeze_modules() -> None:
    """To be called at the end of a task, when everything is imported. Only the first call in a
    process does anything, and only in a worker of Spark: other processes are not ours.
    """
    global _process
    if _process == os.getpid() or not _is_worker():
        return
    _process = os.getpid()
    # What is garbage now would be frozen too.
    gc.collect()
    gc.freeze()


def _is_worker() -> bool:
    """Whether PySpark's daemon has forked this process."""
    started = getattr(sys.modules.get("__main__"), "__spec__", None)
    return started is not None and started.name == _DAEMON
