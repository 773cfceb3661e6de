"""``python -m benchmarks``: measure, print the table, write it to benchmarks/results.

The table on disk grows with every row, so a run that is interrupted leaves what it measured.
"""

import argparse
import datetime
import fnmatch
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.brokers import kafka_dir

from benchmarks import machine
from benchmarks.clients import Clients
from benchmarks.report import as_json, page
from benchmarks.rows import FULL, QUICK, Workbench
from benchmarks.run import Run, row_names, say

RESULTS = Path(__file__).resolve().parent / "results"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small amounts, once: a few minutes")
    parser.add_argument("--rows", metavar="PATTERN", default="*", help="only rows that match")
    parser.add_argument("--repeat", type=int, metavar="N", help="interleaved pairs (default 3)")
    parser.add_argument("--pretouch", type=float, metavar="GB", help="memory to touch first")
    parser.add_argument("--data-dir", type=Path, help="where the brokers write")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the table is written")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    return parser.parse_args()


class Results:
    """The output files of a run, in Markdown and JSON."""

    def __init__(self, folder: Path, described: dict[str, str]) -> None:
        self.now = datetime.datetime.now(datetime.UTC)
        self.path = folder / f"{self.now:%Y-%m-%d-%H%M}"
        self.described = described
        self.text = ""
        self._began = time.monotonic()

    def save(self, run: Run) -> None:
        self.described["took"] = f"{time.monotonic() - self._began:.0f} s"
        title = f"Moldau and Apache Kafka 4.3.1, {self.now:%Y-%m-%d}"
        self.text = page(title, self.described, run.lines, run.notes)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.with_suffix(".md").write_text(self.text)
        content = as_json(self.described, run.lines, run.runs)
        self.path.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join(row_names(Workbench(Clients(Path()), FULL))))
        return 0
    if not (kafka_dir() / "bin" / "kafka-server-start").exists():
        say("Apache Kafka is not installed: run tools/install-apache-kafka, or set KAFKA_DIR")
        return 1
    described = machine.describe()
    repeat = arguments.repeat or (1 if arguments.quick else 3)
    described["repetitions"] = f"{repeat} interleaved pairs{', quick' * arguments.quick}"
    machine.pretouch(arguments.pretouch if arguments.pretouch is not None else 2.0)
    folder = Path(tempfile.mkdtemp(prefix="moldau-bench-", dir=arguments.data_dir))
    pattern = f"*{arguments.rows.lower()}*"
    results = Results(arguments.results, described)
    amounts = QUICK if arguments.quick else FULL
    run = Run(
        folder,
        amounts,
        repeat,
        wants=lambda name: fnmatch.fnmatch(name.lower(), pattern),
        save=results.save,
    )
    try:
        run.everything()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        results.save(run)
        print(results.text)
        say(f"written to {results.path}.md and .json")
    if run.failures:
        say(f"{run.failures} rows were not measured; the notes below the table say why")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
