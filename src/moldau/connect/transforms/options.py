"""Options that several transforms have, and validators of their own."""

from typing import Any

from moldau.connect.config.definition import (
    CaseInsensitiveValidString,
    ConfigDef,
    Importance,
    Type,
    invalid,
)
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern

__all__ = [
    "REPLACE_NULL",
    "SYNTAX_VERSION",
    "non_empty_list",
    "pairs_of",
    "with_field_syntax",
    "with_replace_null",
]

REPLACE_NULL = "replace.null.with.default"
SYNTAX_VERSION = "field.syntax.version"


def with_replace_null(definition: ConfigDef) -> ConfigDef:
    """The definition, and whether a missing value is replaced by the default of its field."""
    return definition.define(
        REPLACE_NULL,
        Type.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        doc="Whether a null in a field that has a default becomes that default. If false, it "
        "stays null.",
    )


def with_field_syntax(definition: ConfigDef) -> ConfigDef:
    """The definition, and the version of the syntax that names a field (KIP-821)."""
    return definition.define(
        SYNTAX_VERSION,
        Type.STRING,
        "V1",
        CaseInsensitiveValidString("V1", "V2"),
        Importance.HIGH,
        "How a field is named. <code>V1</code>: by its name, at the top level only. "
        "<code>V2</code>: by a path with dots, as in <code>address.city</code>; a name that has "
        "dots itself stands in backticks.",
    )


def non_empty_list(name: str, value: Any) -> None:
    if not value:
        raise invalid(name, "[]" if value == [] else value, "give at least one entry")


def valid_regex(name: str, value: Any) -> None:
    try:
        compile_pattern(value)
    except (JavaRegexError, TypeError) as error:
        raise invalid(name, value, f"not a regular expression: {error}") from error


def pairs_of(entry: str) -> list[str]:
    """The parts of an entry such as ``from:to``; empty ones at the end do not count (Java)."""
    parts = entry.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
