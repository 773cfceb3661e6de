"""What goes wrong at the command line's own doing."""


class CommandError(Exception):
    """Something the user can mend; shown as one line."""


class UsageError(CommandError):
    """The command line does not make sense; exit code 2."""
