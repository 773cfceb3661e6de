"""Offers a schema for JSON values: a view with a typed column for each field, from samples.

The offer is a statement that the user can read, change and run. It is only as good as the samples:
a field that none of them has is not in it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from moldau.sql.statements import literal, shown

_DEEPEST: Final = 3
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:?\d{2})?"
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MIXED: Final = "variant"

Path = tuple[str, ...]


def offer(topic: str, values: Iterable[bytes | None]) -> str | None:
    """The statement that makes a typed view of a topic; None if no sample is a JSON object."""
    fields = fields_of(values)
    if not fields:
        return None
    names = _column_names(list(fields))
    lines = ["  _key", "  _timestamp"]
    for (path, kind), name in zip(fields.items(), names, strict=True):
        lines.append(f"  {_extract(path, kind)} AS {shown(name)}")
    view = shown(f"{topic}_view")
    body = ",\n".join(lines)
    return f"CREATE TEMPORARY VIEW {view} AS SELECT\n{body}\nFROM {shown(topic)}"


def fields_of(values: Iterable[bytes | None]) -> dict[Path, str]:
    """The fields of JSON objects with their types, in the order in which they first come."""
    kinds: dict[Path, str | None] = {}
    for raw in values:
        value = _parsed(raw)
        if isinstance(value, dict):
            _collect(value, (), kinds)
    # A field that was always null can be anything; text is the least surprising.
    return {path: kind or "string" for path, kind in kinds.items()}


def _parsed(raw: bytes | None) -> Any:
    try:
        return None if raw is None else json.loads(raw)
    except ValueError:
        return None


def _collect(value: dict[str, Any], path: Path, kinds: dict[Path, str | None]) -> None:
    for name, each in value.items():
        here = (*path, name)
        if isinstance(each, dict) and each and len(here) < _DEEPEST:
            _collect(each, here, kinds)
        else:
            kinds[here] = _common(kinds.get(here), _kind(each))


def _kind(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint" if -(1 << 63) <= value < 1 << 63 else "decimal(38,0)"
    if isinstance(value, float):
        return "double"
    if isinstance(value, str):
        if _MOMENT.fullmatch(value):
            return "timestamp"
        return "date" if _DATE.fullmatch(value) else "string"
    if isinstance(value, list):
        kinds = [_kind(each) for each in value]
        inside: str | None = None
        for each in kinds:
            inside = _common(inside, each)
        return _MIXED if inside == _MIXED else f"array<{inside or 'string'}>"
    return _MIXED


def _common(first: str | None, second: str | None) -> str | None:
    if first is None or second is None or first == second:
        return first or second
    numbers = ("bigint", "decimal(38,0)", "double")
    if first in numbers and second in numbers:
        return max(first, second, key=numbers.index)
    texts = ("date", "timestamp", "string")
    if first in texts and second in texts:
        return "string"
    return _MIXED


def _extract(path: Path, kind: str) -> str:
    if all(_PLAIN.fullmatch(each) for each in path):
        field = f"value:{'.'.join(path)}"
        return field if kind == _MIXED else f"{field}::{kind}"
    inside = "".join(
        f".{each}" if _PLAIN.fullmatch(each) else "['" + each.replace("'", "\\'") + "']"
        for each in path
    )
    return f"variant_get(value, {literal('$' + inside)}, {literal(kind)})"


def _column_names(paths: Sequence[Path]) -> list[str]:
    """The last part of a path, or all of it if that is there already."""
    taken: set[str] = set()
    names = []
    for path in paths:
        name = path[-1] if path[-1].lower() not in taken else "_".join(path)
        taken.add(name.lower())
        names.append(name)
    return names
