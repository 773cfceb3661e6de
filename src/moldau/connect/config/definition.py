"""Definitions of options: what a connector, converter or transform can be configured with.

    config = (
        ConfigDef()
        .define("file", Type.STRING, importance=Importance.HIGH, doc="The file to read.")
        .define("batch.size", Type.INT, 2000, Range(1), doc="Lines in one poll.")
    )
    config.parse({"file": "/tmp/a"})  # {"file": "/tmp/a", "batch.size": 2000}

``parse`` raises ``ConfigError`` at the first problem; ``validate`` reports all of them, one
``ConfigValue`` per option. A message names the option, its value and what would be right. A
definition is also what ``/connector-plugins/{plugin}/config`` prints.
"""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from moldau.connect.config.errors import ConfigError, invalid, missing
from moldau.connect.config.validators import (
    AllOf,
    CaseInsensitiveValidString,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Validator,
    ValidList,
    ValidString,
)

__all__ = [
    "NO_DEFAULT",
    "AllOf",
    "CaseInsensitiveValidString",
    "ConfigDef",
    "ConfigError",
    "ConfigKey",
    "ConfigValue",
    "Importance",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "NonNull",
    "Password",
    "Range",
    "Recommender",
    "Type",
    "ValidList",
    "ValidString",
    "Validator",
    "Width",
    "invalid",
]


class _NoDefault(Enum):
    NO_DEFAULT = "no default"

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault.NO_DEFAULT
HIDDEN: Final = "[hidden]"
_BITS: Final = {"INT": 32, "SHORT": 16, "LONG": 64}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_COMMA: Final = re.compile(r"\s*,\s*")


class Type(Enum):
    """The type of an option. CLASS stays the text: ``plugins`` finds what it names."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(Enum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


@dataclass(frozen=True)
class Password:
    """A secret: it prints as ``[hidden]``, ``value`` is the text."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN


# (name, parsed values of all options) -> values to recommend.
Recommender = Callable[[str, Mapping[str, Any]], Sequence[Any]]


@dataclass(frozen=True)
class ConfigKey:
    """One option."""

    name: str
    type: Type
    default: Any
    validator: Validator | None
    importance: Importance
    doc: str
    group: str | None
    order: int
    width: Width
    display_name: str
    dependents: tuple[str, ...]
    recommender: Recommender | None
    is_internal: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is NO_DEFAULT

    def with_validator(self, validator: Validator) -> "ConfigKey":
        """This option with one more check."""
        checks = (self.validator, validator) if self.validator else (validator,)
        return replace(self, validator=AllOf(*checks))

    def to_json(self) -> dict[str, Any]:
        """The option as Kafka's REST API describes it (``ConfigKeyInfo``)."""
        default = None if self.is_required else to_text(self.default)
        return {
            "name": self.name,
            "type": self.type.value,
            "required": self.is_required,
            "default_value": default,
            "importance": self.importance.value,
            "documentation": self.doc,
            "group": self.group,
            "order_in_group": self.order,
            "width": self.width.value,
            "display_name": self.display_name,
            "dependents": list(self.dependents),
        }


@dataclass
class ConfigValue:
    """What validation says about one option. ``value`` is the parsed value."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True

    def to_json(self) -> dict[str, Any]:
        """The value as Kafka's REST API prints it (``ConfigValueInfo``)."""
        return {
            "name": self.name,
            "value": to_text(self.value),
            "recommended_values": [to_text(value) for value in self.recommended_values],
            "errors": list(self.errors),
            "visible": self.visible,
        }


class ConfigDef:
    """The options of something, in the order in which they were defined."""

    def __init__(self, *others: "ConfigDef") -> None:
        """A definition that starts with all options of ``others``."""
        self.keys: dict[str, ConfigKey] = {}
        for other in others:
            self.keys.update(other.keys)

    def define(
        self,
        name: str,
        type: Type,
        default: Any = NO_DEFAULT,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        group: str | None = None,
        order: int = -1,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
        is_internal: bool = False,
    ) -> "ConfigDef":
        """Add an option and return this definition.

        An option without a default is required. A default is given as text or as the value that
        the text would be parsed to, and must pass the validator.
        """
        if name in self.keys:
            raise ConfigError(f"The option {name} is defined already: choose another name")
        if default is not NO_DEFAULT:
            default = parse_value(name, default, type)
            if validator:
                validator(name, default)
        self.keys[name] = ConfigKey(
            name,
            type,
            default,
            validator,
            importance,
            doc,
            group,
            order,
            width,
            display_name or name,
            tuple(dependents),
            recommender,
            is_internal,
        )
        return self

    def embed(
        self, prefix: str, other: "ConfigDef", group: str | None = None, order: int = 0
    ) -> "ConfigDef":
        """Add the options of ``other`` with ``prefix`` before their names.

        With a ``group`` they are all in it, in their order from ``order`` on; otherwise each stays
        in its own. Their validators still see, and name, the option without the prefix, as in
        Kafka.
        """
        for place, key in enumerate(other.keys.values(), order):
            name = prefix + key.name
            self.keys[name] = replace(
                key,
                name=name,
                validator=_without_prefix(key) if key.validator else None,
                group=group or key.group,
                order=place if group else key.order,
                dependents=tuple(prefix + dependent for dependent in key.dependents),
                recommender=None,
            )
        return self

    @property
    def names(self) -> list[str]:
        return list(self.keys)

    @property
    def groups(self) -> list[str]:
        """The groups of all options, each once, in the order of definition."""
        return list(dict.fromkeys(key.group for key in self.keys.values() if key.group))

    def parse(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all options, with defaults; unknown options are left out.

        Raises:
            ConfigError: for the first value that is missing or invalid.
        """
        parsed = {}
        for key in self.keys.values():
            value = _value_of(key, config)
            if isinstance(key.validator, ValidList) and isinstance(value, list):
                value = list(dict.fromkeys(value))
            if key.validator:
                key.validator(key.name, value)
            parsed[key.name] = value
        return parsed

    def validate(self, config: Mapping[str, Any]) -> list[ConfigValue]:
        """What is wrong with each option, all at once; in the order of definition."""
        values = {name: _validated(key, config) for name, key in self.keys.items()}
        parsed = {name: value.value for name, value in values.items()}
        for key in self.keys.values():
            if key.recommender:
                try:
                    recommended = key.recommender(key.name, parsed)
                    values[key.name].recommended_values = list(recommended)
                except ConfigError as error:
                    values[key.name].errors.append(str(error))
        return list(values.values())

    def unknown(self, config: Mapping[str, Any]) -> dict[str, str | None]:
        """The options in ``config`` that are not defined, with the nearest name of one that is."""
        return {name: nearest(name, self.keys) for name in config if name not in self.keys}

    def to_json(self) -> list[dict[str, Any]]:
        """What ``GET /connector-plugins/{plugin}/config`` prints."""
        return [key.to_json() for key in self.keys.values() if not key.is_internal]


def parse_value(name: str, value: Any, type: Type) -> Any:
    """The value of ``type`` that ``value``, a text or already such a value, stands for."""
    if value is None:
        return None
    if isinstance(value, str):
        return _parse_text(name, value.strip(), type)
    match type:
        case Type.BOOLEAN if isinstance(value, bool):
            return value
        case Type.INT | Type.SHORT | Type.LONG if _is_integer(value):
            return value
        case Type.DOUBLE if _is_integer(value) or isinstance(value, float):
            return float(value)
        case Type.LIST if isinstance(value, list | tuple):
            return list(value)
        case Type.PASSWORD if isinstance(value, Password):
            return value
        case Type.CLASS if inspect.isclass(value):
            return f"{value.__module__}.{value.__qualname__}"
    raise invalid(name, value, f"it must be {_EXPECTED[type]}")


_EXPECTED: Final = {
    Type.BOOLEAN: "true or false",
    Type.STRING: "a text",
    Type.PASSWORD: "a text",
    Type.INT: "an integer of 32 bits (INT)",
    Type.SHORT: "an integer of 16 bits (SHORT)",
    Type.LONG: "an integer of 64 bits (LONG)",
    Type.DOUBLE: "a number (DOUBLE)",
    Type.LIST: "a list, with commas between the entries",
    Type.CLASS: "the name of a class",
}


def _parse_text(name: str, text: str, type: Type) -> Any:
    match type:
        case Type.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise invalid(name, text, f"it must be {_EXPECTED[type]}")
            return text.lower() == "true"
        case Type.INT | Type.SHORT | Type.LONG:
            bound = 1 << (_BITS[type.value] - 1)
            if not _INTEGER.fullmatch(text) or not -bound <= int(text) < bound:
                raise invalid(name, text, f"it must be {_EXPECTED[type]}")
            return int(text)
        case Type.DOUBLE:
            try:
                return float(text)
            except ValueError:
                raise invalid(name, text, f"it must be {_EXPECTED[type]}") from None
        case Type.LIST:
            return _COMMA.split(text) if text else []
        case Type.PASSWORD:
            return Password(text)
    return text


def to_text(value: Any) -> str | None:
    """A parsed value as it is printed; a password stays hidden."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(to_text(entry) or "" for entry in value)
    return str(value)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was most likely meant to be."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def _without_prefix(key: ConfigKey) -> Validator:
    validator = key.validator
    assert validator is not None
    return lambda _, value: validator(key.name, value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _value_of(key: ConfigKey, config: Mapping[str, Any]) -> Any:
    if key.name in config:
        return parse_value(key.name, config[key.name], key.type)
    if key.is_required:
        raise missing(key.name)
    return key.default


def _validated(key: ConfigKey, config: Mapping[str, Any]) -> ConfigValue:
    result = ConfigValue(key.name)
    try:
        result.value = _value_of(key, config)
    except ConfigError as error:
        result.errors.append(str(error))
    if key.validator:
        try:
            key.validator(key.name, result.value)
        except ConfigError as error:
            result.errors.append(str(error))
    return result
