"""An app runs once at a time: two that share their checkpoints would spoil them.

The lock is the kernel's on a file beside the checkpoints, so it ends with the process, however
that ends. The file says which process it was.
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
        PipelineError: it runs already.
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
    """The process that runs the app now; None if none does."""
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
