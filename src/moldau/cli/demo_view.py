"""The demo's screen: a bar for each page and window, and the progress of the query.

Pure: counts in, lines out. ``demo`` reads the topic and writes to the terminal.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import clock_time, table_lines

_MAX_WINDOWS: Final = 3
_BAR_WIDTH: Final = 40
_BAR: Final = "█"


class Window(NamedTuple):
    """One page in one window: a key of the topic."""

    start_ms: int
    page: str


def screen_lines(
    clicks: Mapping[Window, int],
    progress: Sequence[QueryProgress],
    elapsed_s: float,
    where: str,
    *,
    height: int | None = None,
) -> list[str]:
    """The whole screen, top to bottom; with as many windows as a terminal of ``height`` has room.

    The last line of a terminal stays free for its cursor.
    """
    first, *table = table_lines("moldau demo", progress, elapsed_s)
    head = [first, f"broker on {where}", ""]
    count = _MAX_WINDOWS
    if height is not None:
        window_height = len({each.page for each in clicks}) + 2
        count = max(1, min(count, (height - 1 - len(head) - len(table)) // window_height))
    return [*head, *window_lines(clicks, count), *table]


def window_lines(clicks: Mapping[Window, int], count: int = _MAX_WINDOWS) -> list[str]:
    """The latest ``count`` windows, newest first; in each, the most clicked pages first."""
    if not clicks:
        return ["waiting for the first window ...", ""]
    longest = max(len(each.page) for each in clicks)
    most = max(clicks.values())
    starts = sorted({each.start_ms for each in clicks}, reverse=True)
    lines = []
    for start_ms in starts[:count]:
        lines.append(f"clicks in the ten seconds from {clock_time(start_ms)} UTC")
        within = [(seen, each.page) for each, seen in clicks.items() if each.start_ms == start_ms]
        for seen, page in sorted(within, key=lambda each: (-each[0], each[1])):
            bar = _BAR * max(1, round(_BAR_WIDTH * seen / most))
            lines.append(f"  {page:<{longest}}  {seen:>6,}  {bar}")
        lines.append("")
    return lines
