"""The table of results: both brokers, the ratio, the target, and whether it was reached."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# Figures by broker ("moldau", "kafka"), with a value for each repetition.
Runs = Mapping[str, Sequence[Mapping[str, float]]]

UNITS = {
    "mb_s": "MB/s",
    "krec_s": "k records/s",
    "cpu_s_per_gb": "CPU s/GB",
    "cpu_s_per_mrec": "CPU s/million records",
    "run_s": "s from creation to the last record",
    "broker_cpu": "broker CPU %",
    "requests_s": "requests/s",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "p999_ms": "p99.9 ms",
    "p99_growth": "times p99 without",
    "rss_mb": "RSS MB",
    "start_s": "s",
    "stable_s": "s",
    "read_again_s": "s",
    "shared_s": "s",
    "create_s": "creation s",
    "failover_s": "s",
    "stop_s": "clean stop s",
    "kb_each": "KB each",
    "gap_s": "s without acknowledgements",
    "whole_s": "s from restart to full ISR",
    "transactions_s": "transactions/s",
    "loops_s": "loops/s",
    "slowdown": "times slower",
    "fetch_s": "s to fetch it",
    "changes_cpu_s": "changes per CPU second",
    "changes_s": "changes/s",
    "server_cpu_s": "CPU s of PostgreSQL per million changes, with the writes",
    "inserts_s": "inserts/s",
    "inserts_cpu_s": "inserts per CPU second",
    "rest_s": "s to the first answer",
    "running_s": "connector, s until it runs",
    "cpu_s": "connector, CPU s until then",
    "cores": "cores",
    "pss_mb": "PSS MB",
    "p50_s": "p50 s",
    "max_s": "max s",
}


class Line(NamedTuple):
    row: str
    figure: str
    moldau: float
    kafka: float
    ratio: float
    target: str
    is_met: bool | None


def lines_of(
    name: str,
    runs: Runs,
    targets: Sequence[tuple[str, str, float]],
    limits: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | None = None,
) -> list[Line]:
    """One line for each figure, with medians; the ratio is the median over interleaved pairs.

    ``targets`` are for the ratio, ``limits`` and ``floors`` are upper and lower bounds for Moldau's
    figure. A row without Kafka's figures has no ratio.
    """
    wanted = {figure: (bound, value) for figure, bound, value in targets}
    lines = []
    for figure in runs["moldau"][0]:
        if figure.endswith(" rss_mb"):  # Only in the JSON; the table has the memory once.
            continue
        ours = [run[figure] for run in runs["moldau"]]
        others = runs.get("kafka", [])
        theirs = [run[figure] for run in others] or [float("nan")] * len(ours)
        pairs = [a / b for a, b in zip(ours, theirs, strict=True) if b]
        ratio = statistics.median(pairs) if pairs else float("nan")
        target, is_met = _judge(ratio, wanted.get(figure))
        medians = statistics.median(ours), statistics.median(theirs)
        limit = (limits or {}).get(figure)
        if limit is not None:
            target = f"{target}, itself ≤ {limit:g}".removeprefix(", ")
            is_met = is_met is not False and medians[0] <= limit
        floor = (floors or {}).get(figure)
        if floor is not None:
            target = f"{target}, itself ≥ {floor:g}".removeprefix(", ")
            is_met = is_met is not False and medians[0] >= floor
        lines.append(Line(name, _title(figure), *medians, ratio, target, is_met))
    return lines


def _judge(ratio: float, wanted: tuple[str, float] | None) -> tuple[str, bool | None]:
    if wanted is None:
        return "", None
    bound, value = wanted
    if bound == "at least":
        return f"≥ {value:g}", ratio >= value
    return f"≤ {value:g}", ratio <= value


def _title(figure: str) -> str:
    way, _, unit = figure.rpartition(" ")
    return f"{way} {UNITS.get(unit, unit)}".strip()


def absolute_line(name: str, figure: str, runs: Runs, limit: float) -> Line:
    """A line whose target is an absolute figure, not a ratio."""
    (line,) = lines_of(name, runs, [])
    met = line.moldau <= limit
    return line._replace(figure=figure, target=f"≤ {limit:g} {figure.split()[-1]}", is_met=met)


def table(lines: Sequence[Line]) -> str:
    """The lines as a Markdown table."""
    out = [
        "| row | figure | Moldau | Apache Kafka | ratio | target | |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    shown = ""
    for line in lines:
        name = "" if line.row == shown else line.row
        shown = line.row
        verdict = {True: "reached", False: "**missed**", None: ""}[line.is_met]
        out.append(
            f"| {name} | {line.figure} | {_number(line.moldau)} | {_number(line.kafka)} "
            f"| {_ratio(line.ratio)} | {line.target} | {verdict} |"
        )
    return "\n".join(out)


def _ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def page(
    title: str, machine: Mapping[str, str], lines: Sequence[Line], notes: Sequence[str]
) -> str:
    """The whole result as Markdown: the machine, a summary, the table, what was skipped."""
    described = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    judged = [line for line in lines if line.is_met is not None]
    reached = sum(bool(line.is_met) for line in judged)
    summary = f"{reached} of {len(judged)} targets reached."
    remarks = "".join(f"\n- {note}" for note in notes)
    return f"# {title}\n\n{described}\n\n{summary}\n\n{table(lines)}\n{remarks}"


def as_json(machine: Mapping[str, str], lines: Sequence[Line], runs: Mapping[str, Any]) -> Any:
    return {"machine": dict(machine), "lines": [line._asdict() for line in lines], "runs": runs}
