"""Query topics with SQL.

moldau sql
moldau sql -e "SELECT value:customer::string, count(*) FROM orders GROUP BY 1"
moldau sql -f report.sql --format csv > report.csv

Every topic is a table. Queries run on Apache Spark, in a process that stays for
ten idle minutes, so that the next query answers quickly.
"""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from moldau.cli.errors import CommandError
from moldau.cli.output import add_bootstrap, security_of
from moldau.cli.text_files import read_text

if TYPE_CHECKING:
    from moldau.sql.client import RemoteSession
    from moldau.sql.results import Form

_DEFAULT_WORKER = "http://localhost:8083"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "-e",
        "--execute",
        metavar="SQL",
        action="append",
        help="run these statements instead of a shell; may be repeated",
    )
    what.add_argument("-f", "--file", metavar="FILE", help="run the statements of a file")
    what.add_argument(
        "--stop", action="store_true", help="end the process that runs queries, and its session"
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="output format (default: table)",
    )
    parser.add_argument(
        "--registry", metavar="URL", help="schema registry, for topics with Avro records"
    )
    parser.add_argument(
        "--worker",
        metavar="URL",
        default=_DEFAULT_WORKER,
        help=f"Connect worker for CREATE STREAMING TABLE (default: {_DEFAULT_WORKER})",
    )
    add_bootstrap(parser)


def run(options: argparse.Namespace) -> int:
    from moldau.sql import client
    from moldau.sql.results import Form
    from moldau.sql.settings import SqlSettings

    if options.stop:
        is_stopped = client.stop(os.environ)
        print("stopped" if is_stopped else "nothing runs", file=sys.stderr)
        return 0
    if options.command_config:
        # Wrong security settings are reported before anything is started.
        security_of(options)
    settings = SqlSettings(
        bootstrap=options.bootstrap_server,
        security=options.command_config,
        registry=options.registry,
        directory=os.getcwd(),
        worker=options.worker,
        timeout_s=options.request_timeout,
    )
    form = Form(options.format)
    text = _given_text(options)
    session = client.RemoteSession(settings, os.environ)
    try:
        if text is not None:
            return _run_all(session, text, form)
        return _run_shell(session, form)
    finally:
        session.close()


def _given_text(options: argparse.Namespace) -> str | None:
    """The statements from the command line, a file or a pipe; None for a shell."""
    if options.execute:
        return ";\n".join(options.execute)
    if options.file:
        return read_text(options.file)
    return None if sys.stdin.isatty() else sys.stdin.read()


def _run_all(session: "RemoteSession", text: str, form: "Form") -> int:
    """Run statements one after the other, up to the first that fails."""
    from moldau.sql.errors import CANCELLED, Cancelled, SqlError, show_error
    from moldau.sql.output import Printer
    from moldau.sql.statements import statements

    printer = Printer(form, sys.stdout, sys.stderr)
    for statement in statements(text):
        printer.begin()
        try:
            session.run(statement, form, printer)
        except Cancelled as reason:
            printer.end()
            if reason.message != CANCELLED:
                printer.note(str(reason))
            raise KeyboardInterrupt from None
        except SqlError as error:
            printer.end()
            raise CommandError(show_error(error, statement)) from None
        printer.end()
    return 0


def _run_shell(session: "RemoteSession", form: "Form") -> int:
    from importlib.util import find_spec

    if find_spec("prompt_toolkit") is None:
        raise CommandError(
            "the shell needs prompt_toolkit: pip install 'moldau[sql]', or use -e or -f"
        )
    from moldau.sql.shell import run_shell

    print("Starting Spark ...", end="", file=sys.stderr, flush=True)
    try:
        session.connect()
    finally:
        print("\r                  \r", end="", file=sys.stderr, flush=True)
    return run_shell(session, form, os.environ)
