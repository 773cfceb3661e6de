"""Text files that the user names."""

from pathlib import Path

from moldau.cli.errors import CommandError


def read_text(path: str | Path) -> str:
    """The text in a file. Raises OSError, or CommandError if it is not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
