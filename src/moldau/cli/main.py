"""The ``moldau`` command: runs a sub-command and reports what went wrong.

A sub-command is a module with ``add_arguments(parser)`` and ``run(options) -> int``. Only
the module of the one that is called is imported, so that ``moldau start`` starts quickly.

Exit codes: 0 success, 1 failure, 2 invalid command line, 130 interrupted.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from moldau.cli.command_parser import CommandParser
from moldau.cli.errors import UsageError

COMMANDS: Final = {
    "start": "run a broker",
    "cluster": "run a cluster on this machine, check the health of any cluster",
    "topics": "create, list, describe, alter and delete topics, delete records",
    "partitions": "list partitions, move their replicas, elect leaders",
    "brokers": "list and unregister brokers",
    "quorum": "describe the metadata quorum, add and remove controllers",
    "produce": "write records to a topic",
    "consume": "read records from a topic",
    "groups": "list, describe and delete consumer groups, reset their offsets",
    "configs": "describe and alter configurations of topics and brokers",
    "storage": "format, verify and dump data directories",
    "stream": "run and inspect streaming apps on Spark",
    "connect": "run Kafka Connect workers on Spark, manage connectors",
    "sql": "query topics with SQL, on Spark",
    "demo": "run a whole pipeline: broker, clicks, Spark, live counts",
}

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    _open_what_is_closed()
    _escape_what_cannot_be_encoded()
    try:
        return _run(given, is_debug)
    except SystemExit as stop:
        # argparse has already printed the message.
        return stop.code if isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if is_debug:
            raise
        print(f"moldau: {_explain(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


def _open_what_is_closed() -> None:
    """Discard output to a descriptor that the caller has closed (``>&-``).

    Left closed, the next file or socket would get its number, and whatever is printed there.
    """
    if sys.stdin is None:
        # Still None: a command that reads it says so.
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _escape_what_cannot_be_encoded() -> None:
    """Where output is not UTF-8, print other characters as escapes instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


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
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(COMMANDS)}"
        raise UsageError(f"{name!r} is not a command: {hint}")
    command = import_module(f"moldau.cli.{name}")
    parser = CommandParser(
        prog=f"moldau {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Add --debug to see a traceback when the command fails.",
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    options = parser.parse_args(given[1:])
    options.debug = is_debug
    return int(command.run(options))


def _overview() -> argparse.ArgumentParser:
    """The output of ``moldau --help``; it imports none of the commands."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {meaning}" for name, meaning in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="moldau",
        usage="moldau COMMAND ...",
        add_help=False,
        description="Apache Kafka, rebuilt in Python.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"commands:\n{lines}\n\nRun 'moldau COMMAND --help' for its options.",
    )


def _explain(error: Exception) -> str:
    """One line for the user: what failed, and what may help."""
    from moldau.client.connection import ConnectionFailed
    from moldau.client.security_error import SecurityError
    from moldau.errors import ApiError

    if isinstance(error, ConnectionFailed):
        return (
            f"{error}. Is a broker running there? 'moldau start' starts one; "
            "--bootstrap-server selects another."
        )
    if isinstance(error, ApiError) and not isinstance(error, SecurityError):
        return f"{error} ({error.code.name})"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!r} is not UTF-8"
    # The message of an exception that Moldau defines is written for the user.
    if type(error).__module__.startswith("moldau.") or isinstance(error, ValueError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return f"{type(error).__name__}: {error} (this is a bug; --debug shows the traceback)"
