"""Versions of plugins, and the ranges in which a config may ask for them (KIP-891).

``1.0`` asks for exactly that version; ranges are written as in Maven: ``[1.0,2.0)``, ``[1.0,)``,
``(,1.0],[1.2,)``. No version, or ``latest``, is any.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from moldau.connect.config.errors import ConfigError

_PART: Final = re.compile(r"\d+|[a-zA-Z]+")
_RANGE: Final = re.compile(r"([\[(])([^\[\]()]*)([\])])")
# Pre-releases come before the release, which has no qualifier.
_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")


@dataclass(frozen=True)
class Restriction:
    """One interval; None is unbounded."""

    low: str | None
    high: str | None
    includes_low: bool
    includes_high: bool

    def contains(self, version: str) -> bool:
        key = _key(version)
        if self.low is not None:
            low = _key(self.low)
            if key < low or (key == low and not self.includes_low):
                return False
        if self.high is not None:
            high = _key(self.high)
            if key > high or (key == high and not self.includes_high):
                return False
        return True

    def __str__(self) -> str:
        opening = "[" if self.includes_low else "("
        closing = "]" if self.includes_high else ")"
        return f"{opening}{self.low or ''},{self.high or ''}{closing}"


@dataclass(frozen=True)
class VersionRange:
    """The versions in any of the intervals."""

    restrictions: tuple[Restriction, ...]

    def contains(self, version: str) -> bool:
        return any(restriction.contains(version) for restriction in self.restrictions)

    def __str__(self) -> str:
        return ",".join(map(str, self.restrictions))


def parse_range(text: str | None) -> VersionRange | None:
    """The range that ``text`` stands for; None if any version will do.

    Raises:
        ConfigError: if it is not written as a range.
    """
    if text is None or text.strip() in ("", "latest"):
        return None
    text = text.strip()
    if text[0] not in "[(":
        if re.search(r"[\[\](),\s]", text):
            raise ConfigError(f"{text} is not a version: write one as 1.2, a range as [1.2,2)")
        return VersionRange((Restriction(text, text, True, True),))
    restrictions = []
    rest = text
    while rest:
        match = _RANGE.match(rest)
        if match is None:
            raise ConfigError(f"{text} is not a range of versions: close it with ] or )")
        restrictions.append(_restriction(match, text))
        rest = rest[match.end() :].lstrip(", ")
    return VersionRange(tuple(restrictions))


def _restriction(match: re.Match[str], text: str) -> Restriction:
    opening, inside, closing = match.groups()
    low, comma, high = (part.strip() for part in inside.partition(","))
    if not comma:
        if not low or (opening, closing) != ("[", "]"):
            raise ConfigError(f"{text} is not a range of versions: write a single one as [1.2]")
        high = low
    if low and high and _key(low) > _key(high):
        raise ConfigError(f"{text} is not a range of versions: the lower one comes first")
    return Restriction(low or None, high or None, opening == "[", closing == "]")


def _key(version: str) -> tuple[Any, ...]:
    """What versions are compared by: numbers first, then the qualifier; 1.0 equals 1."""
    numbers: list[int] = []
    qualifier = ""
    for part in _PART.findall(version.lower()):
        if part.isdigit():
            numbers.append(int(part))
        else:
            qualifier = {"cr": "rc", "final": "", "ga": ""}.get(part, part)
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    known = _QUALIFIERS.index(qualifier) if qualifier in _QUALIFIERS else len(_QUALIFIERS)
    return (*numbers, -1), known, qualifier
