"""The windows of the demonstration on a terminal: bars that grow while people click.

Pure: lines in, nothing out. ``demo`` reads the topic and writes the terminal.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import clock_time, table_lines

_SHOWN_WINDOWS: Final = 3
_BAR_WIDTH: Final = 40
_BAR: Final = "█"


class Window(NamedTuple):
    """The clicks on one page in one window, as the topic has them."""

    start_ms: int
    page: str


def screen_lines(
    clicks: Mapping[Window, int], progress: Sequence[QueryProgress], elapsed_s: float, where: str
) -> list[str]:
    """The whole view, top to bottom."""
    head, *table = table_lines("moldau demo", progress, elapsed_s)
    return [head, f"broker on {where}", "", *window_lines(clicks), *table]


def window_lines(clicks: Mapping[Window, int]) -> list[str]:
    """The latest windows, newest first; in each the pages by how often they were seen."""
    if not clicks:
        return ["waiting for the first window ...", ""]
    longest = max(len(each.page) for each in clicks)
    most = max(clicks.values())
    starts = sorted({each.start_ms for each in clicks}, reverse=True)
    lines = []
    for start_ms in starts[:_SHOWN_WINDOWS]:
        lines.append(f"clicks in the ten seconds from {clock_time(start_ms)} UTC")
        within = [(count, each.page) for each, count in clicks.items() if each.start_ms == start_ms]
        for count, page in sorted(within, key=lambda each: (-each[0], each[1])):
            bar = _BAR * max(1, round(_BAR_WIDTH * count / most))
            lines.append(f"  {page:<{longest}}  {count:>6,}  {bar}")
        lines.append("")
    return lines
