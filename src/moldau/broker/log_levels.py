"""The log levels of the broker's loggers, which can be changed at run time (KIP-412).

Levels have Kafka's names. A change applies to this broker only, and until its next restart.
Python's logging has no TRACE; it is a level below DEBUG here.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from moldau.errors import ApiError, ErrorCode

ROOT: Final = "root"
TRACE: Final = 5
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
SET, DELETE, APPEND, SUBTRACT = range(4)
_OPERATIONS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}

# The name of a logger, the operation on its level, and the level.
Change = tuple[str, int, str | None]


class LogLevels:
    """The levels of the loggers of ``manager``; those of the process by default.

    Several nodes in one process, as in a simulation, each have their own.
    """

    def __init__(self, manager: logging.Manager = logging.Logger.manager) -> None:
        self._manager = manager

    def all(self) -> dict[str, str]:
        """Every logger with its effective level."""
        names = [ROOT, *sorted(self._manager.loggerDict)]
        return {name: _level_name(self._logger(name).getEffectiveLevel()) for name in names}

    def check(self, resource_name: str, node_id: int, changes: Iterable[Change]) -> None:
        """Validate ``changes`` without applying them. Raises ApiError if any is not valid."""
        try:
            wanted_node = int(resource_name)
        except ValueError:
            message = f"Node id must be an integer, but it is: {resource_name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message) from None
        if wanted_node != node_id:
            message = f"Unexpected node id. Expected {node_id}, but received {wanted_node}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        for name, operation, level in changes:
            self._check_change(name, operation, level)

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes that were validated by ``check``."""
        for name, operation, level in changes:
            is_set = operation == SET and level is not None
            self._logger(name).setLevel(LEVELS[level] if is_set and level else logging.NOTSET)

    def _check_change(self, name: str, operation: int, level: str | None) -> None:
        if operation not in (SET, DELETE):
            kind = _OPERATIONS.get(operation, f"{operation}")
            message = f"{kind} operation is not allowed for the BROKER_LOGGER resource"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        if name != ROOT and name not in self._manager.loggerDict:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == DELETE:
            if name == ROOT:
                message = "Removing the log level of the root logger is not allowed"
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
        elif level not in LEVELS:
            message = (
                f"Cannot set the log level of {name} to {level} as it is not a supported log "
                f"level. Valid log levels are {', '.join(sorted(LEVELS))}"
            )
            raise ApiError(ErrorCode.INVALID_CONFIG, message)

    def _logger(self, name: str) -> logging.Logger:
        return self._manager.root if name == ROOT else self._manager.getLogger(name)


def _level_name(number: int) -> str:
    """The most verbose of Kafka's levels that is enabled at level ``number``."""
    for name, level in LEVELS.items():
        if number <= level:
            return name
    return "FATAL"
