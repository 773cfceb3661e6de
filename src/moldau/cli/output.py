"""Tables and JSON on standard output, and options shared by the commands."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moldau.cli.option_types import positive_seconds

if TYPE_CHECKING:
    from moldau.client.security import Security

DEFAULT_BOOTSTRAP = "localhost:9092"


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        type=_addresses,
        default=DEFAULT_BOOTSTRAP,
        help=f"brokers to connect to, comma-separated (default: {DEFAULT_BOOTSTRAP})",
    )
    add_command_config(parser)
    parser.add_argument(
        "--request-timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=30.0,
        help="how long to wait for a response (default: 30)",
    )


def _addresses(text: str) -> str:
    """``text``, if it names brokers. Raises ArgumentTypeError."""
    if text == DEFAULT_BOOTSTRAP:
        return text
    # Imported late, as below: some commands only pass it on, and are to be quick.
    from moldau.client.cluster import parse_bootstrap

    try:
        parse_bootstrap(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_command_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        type=_properties_file,
        default={},
        help="client properties file; security.protocol, ssl.* and sasl.* are used",
    )


def security_of(options: argparse.Namespace) -> "Security":
    """The security settings in ``--command-config``. Raises ValueError."""
    from moldau.client.security import parse_security

    return parse_security(options.command_config)


def _properties_file(path: str) -> dict[str, str]:
    from moldau.client.security import is_security_setting
    from moldau.config.properties import decode_properties, parse_properties

    try:
        settings = parse_properties(decode_properties(Path(path).read_bytes()))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise argparse.ArgumentTypeError(f"{path}: {reason}") from None
    # Such files often contain other settings, for Kafka's own tools.
    return {name: value for name, value in settings.items() if is_security_setting(name)}


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="output format (default: table)",
    )


def print_json(value: Any) -> None:
    """Print one JSON document, indented."""
    # Other encodings may lack a character; JSON has an escape for every one.
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    json.dump(value, sys.stdout, indent=2, ensure_ascii=not is_utf8)
    sys.stdout.write("\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "") -> None:
    """Print columns as wide as their contents; numbers are right-aligned."""
    for line in table_lines(header, rows):
        print(f"{indent}{line}".rstrip())


def table_lines(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The lines that ``print_table`` prints."""
    texts = [[_cell(cell) for cell in row] for row in rows]
    widths = [
        max([len(title), *(len(row[column]) for row in texts)])
        for column, title in enumerate(header)
    ]
    is_number = [
        bool(rows) and all(isinstance(row[column], int) for row in rows)
        for column in range(len(header))
    ]
    lines = []
    for row in [list(header), *texts]:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    return str(value)


def plural(count: int, thing: str) -> str:
    """``1 partition``, ``2 partitions``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
