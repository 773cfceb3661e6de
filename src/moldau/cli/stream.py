"""Run and inspect streaming apps on Spark.

moldau stream run app.py
moldau stream run app.py --master spark://head:7077 --conf spark.task.cpus=2
moldau stream describe app.py --dot | dot -Tsvg > app.svg
moldau stream status app.py
moldau stream reset app.py --execute

APP is a Python file that defines a moldau.streams.App; app.py:name selects one
of several.
"""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from moldau.cli.command_parser import add_verb
from moldau.cli.option_types import positive_seconds, seconds
from moldau.cli.output import add_command_config, add_format, plural, print_json, print_table
from moldau.cli.stream_app import load_app, send_functions_by_value
from moldau.cli.times import format_time
from moldau.cli.topics import key_value

if TYPE_CHECKING:
    from moldau.streams.app import App


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run = _verb(verbs, "run", "run an app until Ctrl-C or SIGTERM", _run)
    run.add_argument("--master", metavar="URL", help="Spark master (default: local[*])")
    run.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a Spark setting; may be repeated",
    )
    run.add_argument(
        "--trigger",
        metavar="INTERVAL",
        help="start a batch every '5 seconds', say (default: when the last one ends)",
    )
    run.add_argument(
        "--once", action="store_true", help="process the records available now, then stop"
    )
    run.add_argument(
        "--report",
        choices=("auto", "table", "lines", "json", "none"),
        default="auto",
        help="how to show progress (default: a table on a terminal, otherwise lines)",
    )
    run.add_argument(
        "--interval",
        metavar="SECONDS",
        type=positive_seconds,
        help="how often to show it (default: 1 for a table, otherwise 10)",
    )
    run.add_argument(
        "--patience",
        metavar="SECONDS",
        type=seconds,
        help="how long to wait for brokers that are away (default: as long as it takes)",
    )

    describe = _verb(verbs, "describe", "show the topology without starting anything", _describe)
    describe.add_argument("--dot", action="store_true", help="print a graph for Graphviz")

    status = _verb(verbs, "status", "show the progress of the queries", _status)
    add_format(status)

    reset = _verb(verbs, "reset", "delete progress and state, so that the app starts over", _reset)
    how = reset.add_mutually_exclusive_group()
    how.add_argument("--execute", action="store_true", help="apply the reset")
    how.add_argument("--dry-run", action="store_true", help="only show it (default)")


def _verb(verbs: Any, name: str, meaning: str, action: Any) -> Any:
    parser = add_verb(verbs, name, meaning)
    parser.add_argument("app", metavar="APP", help="app.py, or app.py:name")
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", help="brokers to use instead of the app's"
    )
    add_command_config(parser)
    parser.add_argument(
        "--checkpoint-dir", metavar="DIR", help="checkpoints to use instead of the app's"
    )
    parser.set_defaults(action=action)
    return parser


def run(options: argparse.Namespace) -> int:
    app = load_app(options.app, debug=options.debug)
    if options.bootstrap_server is not None:
        app.bootstrap = options.bootstrap_server
    if options.command_config:
        app.security = options.command_config
    if options.checkpoint_dir is not None:
        app.checkpoint_dir = options.checkpoint_dir
    options.action(app, options)
    return 0


def _run(app: "App", options: argparse.Namespace) -> None:
    from moldau.spark.session import require_spark

    # Checked before any topic is created.
    require_spark()
    send_functions_by_value()
    app.run(
        master=options.master,
        config=dict(key_value("--conf", text) for text in options.conf),
        trigger=options.trigger,
        once=options.once,
        report=options.report,
        interval_s=options.interval,
        debug=options.debug,
        patience_s=options.patience,
    )


def _describe(app: "App", options: argparse.Namespace) -> None:
    print(app.describe(dot=options.dot))


def _status(app: "App", options: argparse.Namespace) -> None:
    status = app.status()
    if options.format == "json":
        print_json(status.as_json())
        return
    state = "stopped" if status.process is None else f"running, process {status.process}"
    print(f"{app.name}: {state}")
    print(f"  checkpoints {status.checkpoint_dir}")
    header = ("QUERY", "BATCH", "PLANNED", "LAG", "WATERMARK", "READS", "WRITES")
    rows = [
        (
            each.query,
            each.checkpoint.committed_batch,
            _time(each.checkpoint.planned_ms),
            each.lag,
            _time(each.checkpoint.watermark_ms),
            each.reads,
            each.writes,
        )
        for each in status.queries
    ]
    print_table(header, rows, indent="  ")


def _time(moment_ms: int | None) -> str | None:
    return None if moment_ms is None else format_time(moment_ms)


def _reset(app: "App", options: argparse.Namespace) -> None:
    plan = app.plan_reset()
    if plan.is_empty:
        print(f"{app.name} has no checkpoints and no internal topics: there is nothing to reset.")
        return
    for line in plan.lines():
        print(line)
    if not options.execute:
        print("Nothing was changed; add --execute to apply.", file=sys.stderr)
        return
    app.reset()
    count = plural(len(plan.topics), "internal topic")
    print(
        f"Reset {app.name}: the next run starts over. {count} deleted; output topics are unchanged."
    )
