"""Parses the values of options: numbers, flags, durations, and offsets as JSON."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from moldau.client.offsets import EARLIEST
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError

T = TypeVar("T")

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class Given:
    """The given options, looked up by name in any case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}

    def text(self, name: str) -> str | None:
        return self._options.get(name.lower())

    def parse(self, name: str, how: Callable[[str], T], expected: str) -> T | None:
        """Return the parsed value of an option; None if it is not given."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return how(value)
        except (ValueError, TypeError, KeyError, AttributeError, re.error):
            raise PipelineError(f"option {name}={value}: {expected}") from None

    def count(self, name: str) -> int | None:
        return self.parse(name, positive, "a number above 0 is expected")

    def flag(self, name: str, default: bool) -> bool:
        flag = self.parse(name, boolean, "true or false is expected")
        return default if flag is None else flag

    @property
    def names(self) -> list[str]:
        return list(self._options)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """``{"topic": {"0": 23, "1": -2}}``, by partition. Raises ValueError."""
    return _by_partition(text, lowest=EARLIEST)


def parse_moments(text: str) -> dict[TopicPartition, int]:
    return _by_partition(text, lowest=0)


def _by_partition(text: str, lowest: int) -> dict[TopicPartition, int]:
    numbers: dict[TopicPartition, int] = {}
    for topic, partitions in _json_object(text).items():
        for partition, number in partitions.items():
            if type(number) is not int or number < lowest or int(partition) < 0:
                raise ValueError(f"{topic}: {partition}: {number}")
            numbers[TopicPartition(topic, int(partition))] = number
    if not numbers:
        raise ValueError("no partition")
    return dict(sorted(numbers.items()))


def parse_assignment(text: str) -> list[TopicPartition]:
    assigned = []
    for topic, partitions in _json_object(text).items():
        for partition in partitions:
            if type(partition) is not int or partition < 0:
                raise ValueError(f"{topic}: {partition}")
            assigned.append(TopicPartition(topic, partition))
    if not assigned or len(set(assigned)) != len(assigned):
        raise ValueError("none, or one twice")
    return assigned


def _json_object(text: str) -> dict[str, Any]:
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ValueError(text)
    return parsed


def duration_ms(text: str) -> int:
    """``30s``, ``15m``, ``1 h``; a number alone is milliseconds. Raises ValueError."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if not match or (match[2] or "ms") not in _UNITS_MS:
        raise ValueError(text)
    return int(match[1]) * _UNITS_MS[match[2] or "ms"]


def positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def moment_ms(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]
