"""Names of fields that may be nested (KIP-821).

In version 1 of the syntax the whole text is the name of a field at the top. In version 2 dots
separate the steps of a path. A step in backticks may contain dots: ```a.b`.c`` is the field ``c``
of ``a.b``. A backtick counts as the end of a step only before a dot or at the end of the text, and
not after a backslash.
"""

from typing import Any

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.schema import Field, Schema
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.structs import (
    IllegalArgumentError,
    require_map,
    require_struct,
)

__all__ = ["FieldPath"]

_PURPOSE = "a path of fields"


class FieldPath:
    """The steps to one field of a struct or map."""

    def __init__(self, text: str, version: str) -> None:
        """Raises ConfigError for a backtick without its partner."""
        self.steps = [text] if version.upper() == "V1" else _steps(text)

    def field(self, schema: Schema) -> Field | None:
        """The field in a schema, or None. Raises a DataError where a step is not a struct."""
        current = schema
        for step in self._parents():
            found = current.field(step)
            if found is None:
                return None
            current = found.schema
        return current.field(self.steps[-1])

    def of_struct(self, content: Struct, with_default: bool) -> Any:
        """The value in a struct; None where a step is missing."""
        current = content
        for step in self._parents():
            if current.schema.field(step) is None:
                return None
            value = current.get(step)
            if value is None:
                return None
            current = require_struct(value, _PURPOSE)
        last = current.schema.field(self.steps[-1])
        if last is None:
            return None
        return current.get(last) if with_default else current.values[last.index]

    def of_map(self, content: dict[str, Any]) -> Any:
        """The value in a map; None where a step is missing."""
        current = content
        for step in self._parents():
            value = current.get(step)
            if value is None:
                return None
            current = require_map(value, _PURPOSE)
        return current.get(self.steps[-1])

    def _parents(self) -> list[str]:
        if not self.steps:
            raise IllegalArgumentError("an empty path names no field")
        return self.steps[:-1]


def _steps(path: str) -> list[str]:
    steps: list[str] = []
    position = 0
    while position < len(path):
        if path[position] == "`":
            step, position = _quoted(path, position)
        else:
            end = path.find(".", position)
            end = len(path) if end < 0 else end
            step, position = path[position:end], end + 1
        steps.append(step)
    if path.endswith("."):
        steps.append("")
    return steps


def _quoted(path: str, opened_at: int) -> tuple[str, int]:
    """The step in backticks that starts at ``opened_at``, and where the next one starts."""
    step = ""
    start = position = opened_at + 1
    while True:
        position = path.find("`", position)
        is_escaped = position > 0 and path[position - 1] == "\\"
        is_last = position == len(path) - 1
        if position < 0 or (is_last and is_escaped):
            message = (
                f"The path {path} opens a backtick at position {opened_at}, and does not close it"
            )
            raise ConfigError(f"{message}: close it, or write \\` where it belongs to the name")
        if is_last:
            return step + path[start:position], position + 1
        if path[position + 1] == ".":
            if not is_escaped:
                return step + path[start:position], position + 2
            step += path[start : position - 1] + "`"
            start = position + 1
        position += 1
