"""The argument parser of every command: argparse with a usage line that fits a terminal.

argparse names every option in the usage, in lines that may be wider than the terminal. They are all
in the list below it, so here the usage names only the required ones.
"""

import argparse
from typing import Any, Final

# As wide as a terminal that does not say how wide it is.
_WIDTH_FOR_CHECKS: Final = 80


class CommandParser(argparse.ArgumentParser):
    """Sub-parsers made by ``add_subparsers`` are of this class too."""

    _is_printing = False

    def _get_formatter(self) -> argparse.HelpFormatter:
        if self._is_printing:
            return super()._get_formatter()
        # argparse also makes a formatter to check each argument that is added. Without a width it
        # would import shutil, bz2 and lzma to ask the terminal, which a broker never needs.
        return argparse.HelpFormatter(self.prog, width=_WIDTH_FOR_CHECKS)

    def format_usage(self) -> str:
        self._shorten_usage()
        return super().format_usage()

    def format_help(self) -> str:
        self._shorten_usage()
        return super().format_help()

    def _shorten_usage(self) -> None:
        self._is_printing = True
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
