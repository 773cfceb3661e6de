"""Checks of single values in a ``ConfigDef``.

A validator is called with the name of the option and its parsed value and raises ``ConfigError``.
Any function with that signature is a validator too.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from moldau.connect.config.errors import ConfigError, invalid

Validator = Callable[[str, Any], None]


@dataclass(frozen=True)
class Range:
    """A number between two bounds, both included; ``None`` is no bound."""

    low: float | None = None
    high: float | None = None

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, None, "give a number")
        if self.low is not None and value < self.low:
            raise invalid(name, value, f"it must not be less than {self.low}")
        if self.high is not None and value > self.high:
            raise invalid(name, value, f"it must not be more than {self.high}")


class ValidString:
    """One of the given strings."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    def __call__(self, name: str, value: Any) -> None:
        if value not in self.allowed:
            raise invalid(name, value, f"choose from {', '.join(self.allowed)}")


class CaseInsensitiveValidString:
    """One of the given strings, in upper or lower case."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = tuple(text.upper() for text in allowed)

    def __call__(self, name: str, value: Any) -> None:
        if value is None or value.upper() not in self.allowed:
            allowed = ", ".join(self.allowed)
            raise invalid(name, value, f"choose from {allowed}, in upper or lower case")


class ValidList:
    """A list without duplicates or empty entries, of the given strings if there are any."""

    def __init__(
        self, *allowed: str, is_empty_allowed: bool = True, is_null_allowed: bool = False
    ) -> None:
        self.allowed = allowed
        self.is_empty_allowed = is_empty_allowed
        self.is_null_allowed = is_null_allowed

    def __call__(self, name: str, value: Sequence[str] | None) -> None:
        if value is None:
            if self.is_null_allowed:
                return
            raise ConfigError(f"{name} cannot be null: give a list")
        if not value and not self.is_empty_allowed:
            choice = f", from {', '.join(self.allowed)}" if self.allowed else ""
            raise ConfigError(f"{name} cannot be empty: give at least one entry{choice}")
        if (twice := duplicate(value)) is not None:
            raise ConfigError(f"{name} has {twice or 'an empty entry'} twice: remove one")
        for entry in value:
            if not entry:
                raise ConfigError(f"{name} has an empty entry: remove a comma")
            if self.allowed:
                ValidString(*self.allowed)(name, entry)


class NonEmptyString:
    """A string of at least one character, or nothing at all."""

    def __call__(self, name: str, value: Any) -> None:
        if value == "":
            raise invalid(name, value, "give at least one character, or leave it out")


class NonEmptyStringWithoutControlChars:
    """What Kafka accepts as the name of a connector."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            return  # That the option is missing is reported already.
        if value == "":
            raise invalid(name, value, "give at least one character")
        found = [str(ord(character)) for character in value if is_control(character)]
        if found:
            codes = ", ".join(found)
            raise invalid(name, value, f"remove the control characters (of the codes {codes})")


class NonNull:
    """Anything but ``None``."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, "null", "give a value")


class AllOf:
    """All of the given validators, in order."""

    def __init__(self, *validators: Validator) -> None:
        self.validators = validators

    def __call__(self, name: str, value: Any) -> None:
        for validator in self.validators:
            validator(name, value)


def duplicate(entries: Sequence[str]) -> str | None:
    """The first entry that an earlier one equals."""
    return next((entry for at, entry in enumerate(entries) if entry in entries[:at]), None)


def is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"
