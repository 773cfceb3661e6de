"""Definitions of settings: type, default, allowed values, and support in Moldau.

Settings are defined as text, two lines each, in the modules of ``config.settings``:

    log.segment.bytes INT 1073741824 1048576.. HIGH cluster-wide honoured
      Maximum size of a segment; a new one is started before it would be exceeded.

The columns are name, type, default, allowed values, importance, how it can be changed
while the broker runs, and how Moldau supports it. Allowed values are ``any``,
``nonempty``, alternatives of numbers and ranges (``-1,1..9``), words (``a|b``), words
in any case (``~a|b``), or ``throttled-replicas``. Defaults: ``null`` is no value,
``''`` the empty value; ``REQUIRED`` means that there is no default.
"""

import math
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Final, TypeAlias

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None


class SettingType(IntEnum):
    """The types of settings, numbered as in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(StrEnum):
    """At which level a setting of a running broker can be changed."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Status(StrEnum):
    """How Moldau supports a setting."""

    HONOURED = "honoured"
    ACCEPTED = "accepted"  # validated, but without effect so far
    REFUSED = "refused"  # ignoring it would be unsafe, so any value but the default is an error


_BITS: Final = {SettingType.SHORT: 16, SettingType.INT: 32, SettingType.LONG: 64}
_BOOLEANS: Final = {"true": True, "false": False}


class ConfigError(ValueError):
    """A setting has an invalid value; the message names it and the allowed values."""

    def __init__(self, name: str, value: object, problem: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {problem}")
        self.name = name
        self.value = value
        self.problem = problem


class MissingSettingError(ConfigError):
    """A setting that has no default is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(name, None, "it is missing and has no default")

    def __str__(self) -> str:
        return f"{self.name} is missing, and it has no default"


class Setting:
    """One setting of a broker or a topic."""

    __slots__ = ("allowed", "default", "doc", "importance", "mode", "name", "status", "type")

    def __init__(
        self,
        name: str,
        type: SettingType,
        default: str | None,
        allowed: str,
        importance: str,
        mode: UpdateMode,
        status: Status,
        doc: str,
    ) -> None:
        self.name = name
        self.type = type
        # As text, as in a file; "REQUIRED" if there is none.
        self.default = default
        self.allowed = allowed
        self.importance = importance
        self.mode = mode
        self.status = status
        self.doc = doc

    @property
    def attribute(self) -> str:
        """``log.segment.bytes`` is ``log_segment_bytes`` in Python."""
        return self.name.replace(".", "_").replace("-", "_")

    @property
    def sensitive(self) -> bool:
        return self.type is SettingType.PASSWORD

    @property
    def is_required(self) -> bool:
        return self.default == "REQUIRED"

    def default_value(self) -> Value:
        return None if self.default is None else parse_value(self.name, self.type, self.default)

    def parse(self, text: str) -> Value:
        """Parse ``text``.

        Raises:
            ConfigError: it has the wrong type or is not an allowed value.
        """
        value = parse_value(self.name, self.type, text)
        if self.type is SettingType.LIST:
            assert isinstance(value, tuple)
            # Like Kafka, drop repeated items instead of refusing them.
            value = tuple(dict.fromkeys(value))
        if self.allowed != "any":
            self._check(value)
        return value

    def _check(self, value: Value) -> None:
        if isinstance(value, tuple):
            self._check_list(value)
        elif isinstance(value, str):
            self._check_word(value)
        elif isinstance(value, int | float) and not _in_ranges(value, self.allowed):
            raise ConfigError(self.name, to_text(value), _range_problem(value, self.allowed))

    def _check_list(self, items: tuple[str, ...]) -> None:
        if self.allowed == "throttled-replicas":
            if not is_throttled_replicas(items):
                problem = "must be '*', or partition:broker pairs such as 0:1,0:2,1:1"
                raise ConfigError(self.name, ",".join(items), problem)
            return
        if self.allowed == "nonempty":
            if not items or "" in items:
                raise ConfigError(self.name, ",".join(items) or "''", "must not be empty")
            return
        for item in items:
            self._check_word(item)

    def _check_word(self, word: str) -> None:
        if self.allowed == "nonempty":
            if not word:
                raise ConfigError(self.name, "''", "must not be empty")
            return
        any_case = self.allowed.startswith("~")
        words = self.allowed.lstrip("~").split("|")
        found = word.upper() in [w.upper() for w in words] if any_case else word in words
        if not found:
            raise ConfigError(self.name, word, f"String must be one of: {', '.join(words)}")

    def allowed_text(self) -> str:
        """The allowed values, as readable text."""
        if self.allowed == "any":
            return ""
        if self.allowed == "nonempty":
            return "not empty"
        if self.allowed == "throttled-replicas":
            return "* or partition:broker,..."
        if self.type in (SettingType.STRING, SettingType.LIST):
            return self.allowed.lstrip("~").replace("|", ", ")
        return _ranges(self.allowed)


def parse_value(name: str, type: SettingType, text: str) -> Value:
    """``text`` as a value of ``type``; raises ConfigError if it is invalid."""
    if type is not SettingType.PASSWORD:
        text = text.strip()
    if type in _BITS:
        return _parse_int(name, type, text)
    if type is SettingType.LIST:
        return tuple(item.strip() for item in text.split(",")) if text else ()
    if type is SettingType.BOOLEAN:
        boolean = _BOOLEANS.get(text.lower())
        if boolean is None:
            raise ConfigError(name, text, "Expected value to be either true or false")
        return boolean
    if type is SettingType.DOUBLE:
        try:
            if "_" in text:
                raise ValueError("Python accepts 1_000 as a number, Kafka does not")
            return float(text)
        except ValueError:
            raise ConfigError(name, text, "Not a number of type DOUBLE") from None
    return text


def _parse_int(name: str, type: SettingType, text: str) -> int:
    # int() accepts more than Kafka: 1_000 and digits of other scripts.
    digits = text[1:] if text[:1] in ("-", "+") else text
    limit = 1 << (_BITS[type] - 1)
    if digits.isascii() and digits.isdigit() and -limit <= (number := int(text)) < limit:
        return number
    raise ConfigError(name, text, f"Not a number of type {type.name}")


def to_text(value: Value) -> str | None:
    """The text of a value, as Kafka writes it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _java_double(value)
    return str(value)


def _java_double(number: float) -> str:
    """Java uses an exponent from 10^7 on and below 10^-3, and always shows a fraction."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(float(number))
    mantissa, _, exponent = f"{number!r}".partition("e")
    if not exponent:
        mantissa, _, exponent = f"{number:.17e}".partition("e")
        mantissa = repr(float(mantissa))
    return f"{float(mantissa)!r}E{int(exponent)}"


def _bounds(alternative: str) -> tuple[float | None, float | None]:
    low, dots, high = alternative.partition("..")
    if not dots:
        return float(low), float(low)
    return float(low), float(high) if high else None


def _in_ranges(number: float, allowed: str) -> bool:
    for alternative in allowed.split(","):
        low, high = _bounds(alternative)
        if (low is None or number >= low) and (high is None or number <= high):
            return True
    return False


def _ranges(allowed: str) -> str:
    texts = []
    for alternative in allowed.split(","):
        low, dots, high = alternative.partition("..")
        if not dots:
            texts.append(low)
        else:
            texts.append(f"between {low} and {high}" if high else f"at least {low}")
    return " or ".join(texts)


def _range_problem(number: float, allowed: str) -> str:
    """Kafka's message; for a single range it names only the bound that was exceeded."""
    low, dots, high = allowed.partition("..")
    if dots and high and "," not in allowed:
        if number < float(low):
            return f"Value must be at least {low}"
        if number > float(high):
            return f"Value must be no more than {high}"
    return f"Value must be {_ranges(allowed)}"


def is_throttled_replicas(items: tuple[str, ...]) -> bool:
    """Whether ``items`` are empty, ``*``, or ``partition:broker`` pairs."""
    if items in ((), ("*",)):
        return True
    pairs = [item.partition(":") for item in items]
    return all(left.isdigit() and colon and right.isdigit() for left, colon, right in pairs)


def parse_table(text: str) -> Iterable[Setting]:
    """Parse one table; the module's docstring describes the format."""
    lines = text.strip().split("\n")
    # Plain dictionaries make the lookup fast; this runs at every start of a broker.
    types = SettingType.__members__
    modes = {mode.value: mode for mode in UpdateMode}
    statuses = {status.value: status for status in Status}
    for head, doc in zip(lines[::2], lines[1::2], strict=True):
        name, type, default, allowed, importance, mode, status = head.split()
        yield Setting(
            name,
            types[type],
            None if default == "null" else default.replace("''", ""),
            allowed,
            importance,
            modes[mode],
            statuses[status],
            doc.strip(),
        )
