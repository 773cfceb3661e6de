"""Types of option values. argparse names the option in front of the message."""

import argparse
import math


def positive_int(text: str) -> int:
    """A whole number from 1 on."""
    return _whole(text, 1)


def count(text: str) -> int:
    """A whole number from 0 on."""
    return _whole(text, 0)


def seconds(text: str) -> float:
    """A time from 0 on, which need not be a whole number."""
    return _time(text, allows_zero=True)


def positive_seconds(text: str) -> float:
    """A time above 0, which need not be a whole number."""
    return _time(text, allows_zero=False)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{text}: must be {least} or greater")
    return number


def _time(text: str, *, allows_zero: bool) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    if number < 0 or (number == 0 and not allows_zero):
        bound = "0 or greater" if allows_zero else "greater than 0"
        raise argparse.ArgumentTypeError(f"{text}: must be {bound}")
    return number
