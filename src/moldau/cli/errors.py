"""Errors raised by the command line itself."""


class CommandError(Exception):
    """An error that the user can fix; shown as one line."""


class UsageError(CommandError):
    """Invalid arguments; exit code 2."""
