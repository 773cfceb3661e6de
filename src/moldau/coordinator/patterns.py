"""Patterns that clients send to select topics or transactions by name.

They use RE2 syntax (KIP-848, KIP-1152) and must match the whole name. RE2 takes time in proportion
to the name, whatever the pattern: with Python's own engine, a client could keep the broker busy for
hours.
"""

from collections.abc import Callable

from moldau.errors import ApiError, ErrorCode


def compile_pattern(field: str, pattern: str) -> Callable[[str], object | None]:
    """A function that matches whole names. Raises ApiError INVALID_REGULAR_EXPRESSION."""
    import re2  # few requests need it, and importing it slows the start down

    options = re2.Options()
    options.log_errors = False
    try:
        match: Callable[[str], object | None] = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        message = f"{field} `{pattern}` is not a valid regular expression: {reason}."
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None
    return match
