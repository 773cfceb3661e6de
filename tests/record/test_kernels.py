"""Properties of the record kernel as a whole."""

import subprocess
import sys
from array import array
from collections.abc import Callable
from threading import Event, Thread

import pytest

from moldau.record.header import BatchHeader, encode_batch
from moldau.record.records import encode_record
from moldau.record.walk import RecordFacts, end_of_whole, walk_apart
from tests.record.kernels import INSTALLED, MODULES

COUNT = 20_000
BATCH = b"".join(encode_record(i, i, b"key %d" % i, bytes(60), ()) for i in range(COUNT))
HEADER = BatchHeader(0, 0, 0, 2, 0, 0, COUNT - 1, 0, COUNT - 1, -1, -1, -1, COUNT)
CHUNK = encode_batch(HEADER, BATCH)
needs_compiled = pytest.mark.skipif(
    not INSTALLED.is_compiled, reason="the record kernel is not compiled here"
)


def lets_others_run(work: Callable[[], object]) -> bool:
    """Whether another thread gets a turn during ``work``, which nobody forces it to give."""
    started = Event()
    finished: list[bool] = []

    def run() -> None:
        started.set()
        for _ in range(10):
            work()
        finished.append(True)

    thread = Thread(target=run)
    thread.start()
    started.wait()
    was_in_time = not finished
    thread.join()
    return was_in_time


@needs_compiled
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "put",
        "filter",
        "rebase",
        "find a run",
        "write a run",
        "walk",
        "cut",
        "renumber",
        "refuse",
    ],
)
def test_compiled_loops_let_other_threads_run(name: str) -> None:
    offset_map = INSTALLED.OffsetMap(1 << 24, seed=bytes(16))
    # All but one record stay, so that the batch is written anew.
    offset_map.put_records(encode_record(0, 0, b"key 0", b"", ()), 1, COUNT, 0)
    run = INSTALLED.find_run(CHUNK, 0, 0)
    run_filter = INSTALLED.RunFilter(run, offset_map, array("q"), 0)
    works: dict[str, Callable[[], object]] = {
        "index": lambda: INSTALLED.index_records(BATCH, COUNT),
        "put": lambda: offset_map.put_records(BATCH, COUNT, 0, 0),
        "filter": lambda: INSTALLED.filter_records(BATCH, COUNT, 0, offset_map, True),
        "rebase": lambda: INSTALLED.rebase_timestamps(BATCH, COUNT, 1 << 40),
        "find a run": lambda: INSTALLED.find_run(CHUNK, 0, 0),
        "write a run": lambda: run_filter.write(0),
        "walk": lambda: walk_apart(BATCH, RecordFacts(0, COUNT)),
        "cut": lambda: end_of_whole(BATCH),
        "renumber": lambda: INSTALLED.renumber(BATCH, 0, 1),
        "refuse": lambda: INSTALLED.RefusedRecords(
            0, needs_key=True, oldest=0, latest=1, most=10
        ).look(BATCH),
    }
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        # Once may fail on a busy machine that does not wake this thread in time.
        assert any(lets_others_run(works[name]) for _ in range(20))
    finally:
        sys.setswitchinterval(interval)


def test_the_kernel_needs_no_cython_to_run() -> None:
    imports = "; ".join(f"import {module}" for module in MODULES)
    check = "import sys; sys.modules['cython'] = sys.modules['Cython'] = None"
    subprocess.run([sys.executable, "-c", f"{check}; {imports}"], check=True, timeout=60)
