"""The argument parser of every command: argparse with a usage line that fits a terminal.

argparse names every option in the usage, in lines that may be wider than the terminal. They are all
in the list below it, so here the usage names only the required ones.
"""

import argparse
from typing import Any


class CommandParser(argparse.ArgumentParser):
    """Sub-parsers made by ``add_subparsers`` are of this class too."""

    def format_usage(self) -> str:
        self._shorten_usage()
        return super().format_usage()

    def format_help(self) -> str:
        self._shorten_usage()
        return super().format_help()

    def _shorten_usage(self) -> None:
        if self.usage is not None:
            return
        options = [each for each in self._actions if each.option_strings and each.dest != "help"]
        formatter = self._get_formatter()
        shown = [each for each in options if each.required] + self._get_positional_actions()
        formatter.add_usage(None, shown, [], prefix="")
        arguments = formatter.format_help().strip().removeprefix(self.prog)
        self.usage = f"{self.prog}{' [OPTION ...]' if options else ''}{arguments}"


def add_verb(verbs: Any, name: str, meaning: str) -> CommandParser:
    """Add a sub-command; ``meaning`` is a phrase in lower case, without a full stop."""
    description = f"{meaning[0].upper()}{meaning[1:]}."
    parser: CommandParser = verbs.add_parser(
        name, help=meaning, description=description, allow_abbrev=False
    )
    return parser
