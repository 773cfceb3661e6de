"""Tables and JSON on standard output, and the options that commands share."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

DEFAULT_BOOTSTRAP = "localhost:9092"


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=DEFAULT_BOOTSTRAP,
        help=f"brokers to ask first, separated by commas (default: {DEFAULT_BOOTSTRAP})",
    )
    parser.add_argument(
        "--request-timeout",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="how long to wait for an answer (default: 30)",
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print the result"
    )


def print_json(value: Any) -> None:
    """One document, indented for people and whole for programs."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "") -> None:
    """Columns as wide as they need; numbers to the right."""
    texts = [[_cell(cell) for cell in row] for row in rows]
    widths = [
        max([len(title), *(len(row[column]) for row in texts)])
        for column, title in enumerate(header)
    ]
    is_number = [
        bool(rows) and all(isinstance(row[column], int) for row in rows)
        for column in range(len(header))
    ]
    for row in [list(header), *texts]:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        print((indent + "  ".join(cells)).rstrip())


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
