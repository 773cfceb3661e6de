"""What an answer of a server means for the records of the request: decisions without effects."""

from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final

# Answers that ask for another try: timeout, too early, too many requests.
_AGAIN: Final = (408, 425, 429)


class Verdict(Enum):
    """What to do next."""

    DONE = "done"
    # The same request may succeed later.
    AGAIN = "again"
    # These records are at fault.
    BAD_RECORDS = "bad records"
    # Nothing can be sent with these settings.
    WRONG_URL = "wrong url"


def verdict(status: int) -> Verdict:
    if 200 <= status < 300:
        return Verdict.DONE
    if status in _AGAIN or status >= 500:
        return Verdict.AGAIN
    # Redirects are not followed: a record would go where nobody has configured it to go, and
    # for most of them a POST would become a GET.
    return Verdict.BAD_RECORDS if status >= 400 else Verdict.WRONG_URL


def retry_after_s(text: str | None, date: str | None) -> float | None:
    """How long the server asks to wait; None if it does not say.

    ``text`` is its Retry-After: seconds, or a time of its own clock, of which ``date`` (its header
    Date) is the present. So the clocks need not agree.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(
            0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(date or "")).total_seconds()
        )
    except (ValueError, TypeError):
        return None


def wait_s(attempt: int, asked_s: float | None, backoff_s: float, most_s: float) -> float:
    """The pause before the next try: what the server asks for, or doubling pauses."""
    wanted = backoff_s * 2**attempt if asked_s is None else asked_s
    return min(wanted, most_s)
