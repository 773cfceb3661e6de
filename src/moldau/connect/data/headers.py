"""Headers of records: an ordered list, in which a name may occur more than once."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from moldau.connect.data.schema import Schema


class Header(NamedTuple):
    """A named value with its schema, which is None for a value without one."""

    name: str
    schema: Schema | None
    value: Any


def last_with_name(headers: Iterable[Header], name: str) -> Header | None:
    """The last header ``name``, which is the one that counts when there are several; None without
    one.
    """
    found = None
    for header in headers:
        if header.name == name:
            found = header
    return found


def without(headers: Iterable[Header], names: Iterable[str]) -> list[Header]:
    """The headers whose name is not among ``names``, in their order."""
    dropped = frozenset(names)
    return [header for header in headers if header.name not in dropped]
