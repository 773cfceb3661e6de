"""Background writes: in order, a few at a time, and an error does not stop the others."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from moldau.storage.disk.late_writes import LateWrites
from tests.storage.log_making import Later


def test_others_have_their_turn_between_a_few() -> None:
    executor = Later()
    late = LateWrites(executor)
    done: list[int] = []
    for number in range(40):
        late.add(lambda number=number: done.append(number))  # type: ignore[misc]
    assert (done, len(executor.waiting)) == ([], 1)
    executor.run()
    assert 0 < len(done) < 40
    assert len(executor.waiting) == 1
    while executor.waiting:
        executor.run()
    assert done == list(range(40))


def test_an_error_does_not_stop_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    executor = Later()
    late = LateWrites(executor)
    done: list[str] = []
    late.add(lambda: [][0])
    late.add(lambda: done.append("done"))
    executor.run()
    assert done == ["done"]
    assert "a write in the background failed" in caplog.text


def test_after_the_end_of_the_executor_nothing_is_done() -> None:
    executor = ThreadPoolExecutor(1)
    late = LateWrites(executor)
    executor.shutdown()
    done: list[str] = []
    late.add(lambda: done.append("done"))
    late.add(lambda: done.append("done"))
    assert done == []
