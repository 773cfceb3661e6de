"""Only one run of an app at a time: two that share checkpoints would corrupt them.

The lock is a kernel lock on a file next to the checkpoints, so it is released when the process
ends, however it ends. The file has the process id.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from moldau.spark.errors import PipelineError

_NAME: Final = ".running"


@contextmanager
def running_alone(folder: Path, app: str) -> Iterator[None]:
    """Hold the lock of the app whose checkpoints are in ``folder``.

    Raises:
        PipelineError: it is already running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PipelineError(
                f"{app} is running already (process {_read_pid(folder)}) on the checkpoints in "
                f"{folder}: stop it first, or give this one another name or checkpoint_dir"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def running_process(folder: Path) -> int | None:
    """The id of the process that runs the app; None if it is not running."""
    try:
        with (folder / _NAME).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except OSError:
        return _read_pid(folder)
    return None


def _read_pid(folder: Path) -> int:
    text = (folder / _NAME).read_text()
    return int(text) if text.isdigit() else 0
