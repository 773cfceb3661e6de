"""Which names a topic may have.

A name becomes part of a directory's name and of metric names, hence the letters and the
length. In metric names dots turn into underscores, so two topics that differ only there
would be one: the second is refused.
"""

from typing import Final

MAX_NAME_LENGTH: Final = 249
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def topic_name_problem(name: str) -> str | None:
    """What is wrong with ``name``, in Kafka's words; None if nothing is."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed "
            f"length {MAX_NAME_LENGTH}"
        )
    if not _LEGAL.issuperset(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return None
