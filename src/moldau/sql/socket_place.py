"""Where the process of a user listens: a socket that only this user can open.

The directory has mode 0700 and the socket 0600. One that belongs to somebody else is refused:
``/tmp`` is open to everybody, and whoever answered there would get the user's passwords.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import moldau
from moldau.sql.errors import SqlError
from moldau.sql.protocol import PROTOCOL


def socket_directory(environment: Mapping[str, str]) -> Path:
    """The directory of sockets, made if it is not there.

    Raises:
        SqlError: it belongs to another user, or others may open it.
    """
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime:
        directory = Path(runtime) / "moldau"
    else:
        # Imported late: it imports several compressors, too.
        import tempfile

        directory = Path(tempfile.gettempdir()) / f"moldau-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise SqlError(
            f"{directory} cannot be made ({error.strerror})",
            "set XDG_RUNTIME_DIR to a directory of yours",
        ) from None
    is_safe = (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )
    if not is_safe:
        raise SqlError(
            f"{directory} is not a directory of mode 0700 of this user",
            "remove it, or set XDG_RUNTIME_DIR to a directory of yours",
        )
    return directory


def socket_path(environment: Mapping[str, str]) -> Path:
    """The socket of this version of Moldau on this Python. Raises SqlError."""
    facts = (
        PROTOCOL,
        moldau.__version__,
        str(Path(moldau.__file__).parent),
        sys.executable,
        # Spark's time zone, and its Java, are those of the environment it was started in.
        environment.get("TZ", ""),
        environment.get("JAVA_HOME", ""),
    )
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
    return socket_directory(environment) / f"sql-{digest}.sock"
