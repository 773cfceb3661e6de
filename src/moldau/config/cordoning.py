"""``cordoned.log.dirs``: log directories that take no new partitions (KIP-1066)."""

from collections.abc import Sequence
from typing import Final

from moldau.config.definition import ConfigError

CORDONED_LOG_DIRS: Final = "cordoned.log.dirs"
_ALL: Final = "*"


def cordoned(items: Sequence[str], log_dirs: Sequence[str]) -> tuple[str, ...]:
    """The directories in ``items``; ``*`` means all ``log_dirs``.

    Raises ConfigError if one of them is not a log directory.
    """
    if _ALL in items:
        if len(items) > 1:
            raise ConfigError(CORDONED_LOG_DIRS, ",".join(items), "* must stand alone")
        return tuple(log_dirs)
    for item in items:
        if item not in log_dirs:
            problem = f"must be one of the log.dirs {', '.join(log_dirs)}"
            raise ConfigError(CORDONED_LOG_DIRS, item, problem)
    return tuple(items)
