"""Options that nothing reads: most likely a misspelt one.

Kafka ignores an option that it does not know. So does Moldau, since configs carry notes and options
of other tools, except where it was probably meant for us: one of our own prefix, or one or two
letters from an option that is not set.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moldau.connect.config.definition import nearest

OUR_PREFIX: Final = "moldau."
_LONG_NAME: Final = 10


def problem_of(name: str, config: Mapping[str, Any], known: Iterable[str]) -> str | None:
    """What to say about an option of ``config`` that is not among ``known``; None to accept it."""
    known = list(known)
    if name.startswith(OUR_PREFIX):
        ours = [each for each in known if each.startswith(OUR_PREFIX)]
        close = nearest(name, ours)
        hint = f"Did you mean {close}?" if close else f"There are: {', '.join(ours)}."
        return f"Unknown configuration {name}. {hint}"
    prefix = _alias_prefix(name)
    unset = [each for each in known if each not in config and _alias_prefix(each) == prefix]
    meant = misspelt(name.removeprefix(prefix), (each.removeprefix(prefix) for each in unset))
    return f"Unknown configuration {name}. Did you mean {prefix}{meant}?" if meant else None


def _alias_prefix(name: str) -> str:
    """``transforms.ALIAS.``, whose options are compared only with each other."""
    option, _, rest = name.partition(".")
    alias, dot, _ = rest.partition(".")
    return f"{option}.{alias}." if option in ("transforms", "predicates") and dot else ""


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """The known name that is one letter away, or two in a long name."""
    allowed = 2 if len(name) >= _LONG_NAME else 1
    found = [(distance(name, each), each) for each in known if abs(len(name) - len(each)) <= 2]
    close = [(letters, each) for letters, each in found if letters <= allowed]
    return min(close)[1] if close else None


def distance(left: str, right: str) -> int:
    """How many letters are inserted, left out, replaced or swapped with their neighbour."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        current = [i]
        for j, other in enumerate(right, 1):
            cost = min(last[j] + 1, current[j - 1] + 1, last[j - 1] + (letter != other))
            is_swapped = i > 1 and j > 1 and (letter, left[i - 2]) == (right[j - 2], other)
            if is_swapped:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
