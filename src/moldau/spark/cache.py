"""Files that a session keeps for later ones, in the user's cache directory.

All of them can be created again, so failures are not errors: without a writable home directory,
callers use a temporary directory or do without the file.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environment: Mapping[str, str]) -> Path:
    """Moldau's folder in the user's cache directory."""
    base = environment.get("XDG_CACHE_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".cache"
    )
    return Path(base) / "moldau"


def command_folder(cache: Path, prefix: str, text: str) -> Path:
    """The folder of a command with this ``text``: each text has its own folder."""
    return cache / f"{prefix}{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def keep_command(command: Path, text: str) -> Path:
    """Write the shell script ``text`` to ``command`` unless it exists, and return the path.

    Raises:
        OSError: it cannot be written.
    """
    if not os.access(command, os.X_OK):
        command.parent.mkdir(parents=True, exist_ok=True)
        # Under another name first: another process may be about to start it.
        draft = command.with_name(f"{command.name}.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(command)
    return command
