"""Replacements of Java's regular expressions: ``$1``, ``${name}``, and a backslash that quotes."""

import re
from collections.abc import Callable

from moldau.connect.transforms.java_regex import JavaRegexError

__all__ = ["NoSuchGroupError", "Replacement", "compile_replacement"]

Replacement = Callable[[re.Match[str]], str]

_GROUP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")


class NoSuchGroupError(JavaRegexError):
    """A replacement refers to a group by a number that the pattern does not have."""


def compile_replacement(replacement: str, regex: re.Pattern[str]) -> Replacement:
    """``replacement`` of Java's ``Matcher.replaceFirst``: ``$1``, ``${name}`` and ``\\`` that
    quotes.

    Raises:
        JavaRegexError: a group that the pattern does not have, or a ``$`` that stands for none.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        char = replacement[position]
        position += 1
        if char == "\\":
            if position == len(replacement):
                raise JavaRegexError("a backslash at the end quotes nothing: write \\\\")
            parts.append(replacement[position])
            position += 1
        elif char == "$":
            group, position = _group_reference(replacement, position, regex)
            parts.append(group)
        else:
            parts.append(char)

    def expand(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return expand


def _group_reference(text: str, position: int, regex: re.Pattern[str]) -> tuple[int, int]:
    """The group that ``$`` before ``position`` refers to, and where the text continues."""
    if position == len(text):
        raise JavaRegexError("a $ at the end names no group: write \\$")
    if text[position] == "{":
        end = text.find("}", position)
        name = text[position + 1 : end if end >= 0 else None]
        if end < 0:
            raise JavaRegexError(f"${{{name} is not closed: write ${{{name}}}")
        if not _GROUP_NAME.fullmatch(name):
            raise JavaRegexError(f"${{{name}}} is no name of a group: these are letters and digits")
        if name not in regex.groupindex:
            raise JavaRegexError(f"the pattern has no group {name}")
        return regex.groupindex[name], end + 1
    if not (text[position].isascii() and text[position].isdigit()):
        raise JavaRegexError(f"${text[position]} names no group: write \\$ for a dollar")
    group = int(text[position])
    position += 1
    if group > regex.groups:
        raise NoSuchGroupError(f"the pattern has no group {group}, only {regex.groups}")
    # Java takes as many digits as still name a group: "$12" is group 1 and a "2" where there are
    # nine.
    while position < len(text) and text[position] in "0123456789":
        longer = group * 10 + int(text[position])
        if longer > regex.groups:
            break
        group = longer
        position += 1
    return group, position
