"""Lists of partitions on a command line: ``--partition 0,2 --partition 5``."""

from collections.abc import Sequence

from moldau.cli.errors import UsageError


def parse_partitions(texts: Sequence[str] | None) -> list[int] | None:
    """The partitions named, each once; None if the option was not given. Raises UsageError."""
    if not texts:
        return None
    numbers = []
    for text in ",".join(texts).split(","):
        if not text.strip().isdecimal():
            raise UsageError(f"--partition {text}: must be a number, 0 or greater")
        numbers.append(int(text))
    return list(dict.fromkeys(numbers))
