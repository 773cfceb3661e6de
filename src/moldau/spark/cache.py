"""What a session keeps for the next one, in the user's cache directory.

All of it can be made again, so nothing here is an error: a user without a home, or without a
home to write to, gets the same from a directory that ends with the process, or goes without.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environment: Mapping[str, str]) -> Path:
    """Where a user's programs keep what they can make again."""
    base = environment.get("XDG_CACHE_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".cache"
    )
    return Path(base) / "moldau"


def command_folder(cache: Path, prefix: str, text: str) -> Path:
    """Where a command with this ``text`` is kept: another text is another folder."""
    return cache / f"{prefix}{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def keep_command(command: Path, text: str) -> Path:
    """The shell script ``text`` as ``command``, made if it is not there.

    Raises:
        OSError: it cannot be written.
    """
    if not os.access(command, os.X_OK):
        command.parent.mkdir(parents=True, exist_ok=True)
        # Under another name first: somebody else may be about to start it.
        draft = command.with_name(f"{command.name}.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(command)
    return command
