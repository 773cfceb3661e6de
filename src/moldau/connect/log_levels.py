"""Levels of loggers, as ``/admin/loggers`` shows and changes them (KIP-495, KIP-976).

The loggers are Python's. Kafka's names work too: ``org.apache.kafka.connect.runtime`` stands for
``moldau.connect.runtime``, and what is asked by such a name is answered by it.
"""

import logging
import threading
from typing import Final

from moldau.clock import Clock, SystemClock

log = logging.getLogger(__name__)

ROOT: Final = "root"
# Python has no OFF: a level above all others.
_LEVELS: Final = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG - 5,
    "ALL": 1,
}
_PACKAGES: Final = {"org.apache.kafka.connect": "moldau.connect", "org.apache.kafka": "moldau"}

Level = dict[str, str | int | None]


class LogLevels:
    """The levels of this process. Used by several threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._changed_ms: dict[str, int] = {}

    @staticmethod
    def is_level(level: str) -> bool:
        return level.upper() in _LEVELS

    def all(self) -> dict[str, Level]:
        """Every logger there is, and its level."""
        return {name: self._describe(name) for name in [*_existing(), ROOT]}

    def get(self, logger: str) -> Level | None:
        """The level of one logger; None if there is no such logger."""
        name = _python_name(logger)
        if name != ROOT and name not in _existing():
            return None
        return self._describe(name)

    def set(self, logger: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it; the names of those that changed."""
        number = _LEVELS[level.upper()]
        name = _python_name(logger)
        with self._lock:
            below = [each for each in _existing() if name == ROOT or each.startswith(f"{name}.")]
            affected = []
            for each in dict.fromkeys([*below, name]):
                python_logger = _logger(each)
                if python_logger.getEffectiveLevel() != number:
                    affected.append(each)
                    self._changed_ms[each] = self._clock.wall_ms()
            for each in affected:
                _logger(each).setLevel(number)
            # A logger that inherits its level now has one of its own.
            _logger(name).setLevel(number)
        return sorted(_shown_as(each, logger) for each in affected)

    def apply(self, logger: str, level: str) -> None:
        """As ``set``, for a level out of the config topic (``scope=cluster``)."""
        if self.is_level(level):
            self.set(logger, level)
        else:
            log.warning("The unknown level %r of logger %s is ignored", level, logger)

    def _describe(self, name: str) -> Level:
        level = _logger(name).getEffectiveLevel()
        return {"level": _level_name(level), "last_modified": self._changed_ms.get(name)}


def _existing() -> list[str]:
    registered = logging.root.manager.loggerDict.items()
    return sorted(name for name, each in list(registered) if isinstance(each, logging.Logger))


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _python_name(logger: str) -> str:
    for kafka, package in _PACKAGES.items():
        if logger == kafka or logger.startswith(f"{kafka}."):
            return package + logger.removeprefix(kafka)
    return logger


def _shown_as(name: str, asked: str) -> str:
    """The name of a logger in the words of the question."""
    base = _python_name(asked)
    if base != asked and (name == base or name.startswith(f"{base}.")):
        return asked + name.removeprefix(base)
    return name


def _level_name(level: int) -> str:
    return next(name for name, number in _LEVELS.items() if level >= number or name == "ALL")
