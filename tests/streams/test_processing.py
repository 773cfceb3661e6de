"""Python processors with state for each key, and timers."""

from collections.abc import Iterator
from typing import Any

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.keyed_state import States
from moldau.streams.processing import Context, Processor
from moldau.streams.stream import Stream
from moldau.streams.topology import Topology
from tests.streams.flows import Flow


class Silence(Processor):
    """Says so when nothing has come for ten seconds."""

    def init(self, states: States) -> None:
        self.last = states.value("last")
        self.seen = states.list("seen")
        self.by_parity = states.map("by_parity")

    def process(self, context: Context, key: str, value: int) -> Iterator[Any]:
        if (before := self.last.get()) is not None:
            context.delete_timer(before + 10_000)
        self.last.set(context.timestamp_ms)
        context.set_timer(context.timestamp_ms + 10_000)
        self.seen.append(value)
        parity = "odd" if value % 2 else "even"
        self.by_parity.set(parity, self.by_parity.get(parity, 0) + 1)
        if value == 3:
            yield {"said": "three", "seen": list(self.seen), "odd": None}

    def on_timer(self, context: Context, key: str) -> Iterator[Any]:
        odd = dict(self.by_parity.items()).get("odd")
        yield {"said": f"{key} is silent", "seen": list(self.seen), "odd": odd}
        self.last.clear()
        self.seen.clear()
        self.by_parity.delete("odd")


def test_a_processor_keeps_state_for_each_key_and_is_called_by_its_timers(flow: Flow) -> None:
    pings = flow.stream(
        "pings",
        [("a", 1, 1), ("b", 2, 2)],
        [("a", 3, 8)],
        # Behind the watermark, and yet seen.
        [("c", 5, 30), ("b", 4, 3)],
        [("c", 6, 31)],
    )
    said = pings.process(Silence(), "said string, seen array<long>, odd long")
    out = flow.run(said)
    assert out[0] == ("a", {"said": "three", "seen": [1, 3]}, 8.0)
    assert sorted((each.key, each.value, each.second) for each in out[1:]) == [
        ("a", {"said": "a is silent", "seen": [1, 3], "odd": 2}, 18.0),
        ("b", {"said": "b is silent", "seen": [2, 4]}, 13.0),
    ]


class Late(Processor):
    def process(self, context: Context, key: str, value: int) -> None:
        context.set_timer(context.now_ms)

    def on_timer(self, context: Context, key: str) -> list[bool]:
        return [context.now_ms > 1_700_000_000_000]


def test_timers_can_go_by_the_clock_and_a_test_of_them_ends(flow: Flow) -> None:
    pings = flow.stream("pings", [("a", 1, 1)], [("b", 1, 2)])
    out = flow.run(pings.process(Late(), "boolean", time="processing"))
    assert sorted((each.key, each.value) for each in out) == [("a", True), ("b", True)]


def test_another_time_than_the_two_is_refused() -> None:
    with pytest.raises(PipelineError, match="time='wall' is not known"):
        Stream.source(Topology(), "pings").process(Late(), "boolean", time="wall")
