"""The ``moldau`` command: finds the sub-command, runs it, and says what went wrong.

A sub-command is a module with ``add_arguments(parser)`` and ``run(options) -> int``. Only
the module of the one that is called is imported, so that ``moldau start`` is quick.

Exit codes: 0 done, 1 it failed, 2 the command line is wrong, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from moldau.cli.errors import UsageError

COMMANDS: Final = {
    "start": "run a broker",
    "topics": "create, list, describe, alter and delete topics",
    "produce": "write records to a topic",
    "consume": "read records from a topic",
    "groups": "list and describe consumer groups, and set their offsets",
    "configs": "describe and alter settings of topics and brokers",
    "storage": "format a data directory, and look into its files",
    "stream": "run streaming apps on Spark, and look at them",
    "demo": "a pipeline from nothing: broker, clicks, Spark, windows on the terminal",
}

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        return _run(given, is_debug)
    except SystemExit as stop:
        # argparse has said what there is to say.
        return stop.code if isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if is_debug:
            raise
        print(f"moldau: {_explain(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


def _run(given: list[str], is_debug: bool) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        _overview().print_help()
        return 0 if given else 2
    name = given[0]
    if name in ("-V", "--version", "version"):
        from moldau import __version__

        print(f"moldau {__version__}")
        return 0
    if name not in COMMANDS:
        import difflib

        close = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(COMMANDS)}"
        raise UsageError(f"{name!r} is not a command: {hint}")
    command = import_module(f"moldau.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"moldau {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Give --debug as well for a traceback when something fails.",
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    options = parser.parse_args(given[1:])
    options.debug = is_debug
    return int(command.run(options))


def _overview() -> argparse.ArgumentParser:
    """What ``moldau --help`` shows, without importing the commands."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {meaning}" for name, meaning in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="moldau",
        usage="moldau COMMAND ...",
        description="Apache Kafka's system, rebuilt in Python.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"commands:\n{lines}\n\n'moldau COMMAND --help' says more about each.",
    )


def _explain(error: Exception) -> str:
    """One line for people: what failed, and what may help."""
    from moldau.client.connection import ConnectionFailed
    from moldau.client.security_error import SecurityError
    from moldau.errors import ApiError

    if isinstance(error, ConnectionFailed):
        return (
            f"{error}. Is a broker running there? 'moldau start' starts one, "
            "--bootstrap-server names another."
        )
    if isinstance(error, ApiError) and not isinstance(error, SecurityError):
        return f"{error} ({error.code.name})"
    # An exception that Moldau itself defines was raised for the user to read.
    if type(error).__module__.startswith("moldau.") or isinstance(error, ValueError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return f"{type(error).__name__}: {error} (a bug; --debug shows where)"
