"""An archive of Spark's classes, made as a user's machine makes it, and sessions that use it.

Here and not with the quick tests: to make one takes half a minute of a core.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.spark.class_archive import SWITCH
from moldau.spark.errors import PipelineError
from moldau.spark.session import require_spark
from tests.compat.sample import wait_until

LIMIT_S = 600
# Says whether the JVM has mapped an archive, and does a bit of work. What a JVM has to say about
# an archive would come out beside it.
SESSION = """
from pathlib import Path
import moldau.spark
from pyspark import SparkContext
spark = moldau.spark.session(master="local[1]")
assert spark.range(3).count() == 3
maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
print("mapped" if "moldau/classes/" in maps else "not mapped")
spark.stop()
"""


def python(cache: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A Python that has nothing to do with the environment of this one's Spark."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_")) and name not in (SWITCH, "JAVA_HOME")
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, "XDG_CACHE_HOME": str(cache), **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's cache after a first session: another process has made an archive."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("what a process has mapped is not to be seen here")
    try:
        require_spark()
    except PipelineError as reason:
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("the cache")
    first = python(folder, "-c", SESSION)
    assert (first.stdout, first.returncode) == ("not mapped\n", 0), first.stderr
    # Its user is told what goes on, where the result is kept, and how to do without.
    (told,) = [line for line in first.stderr.splitlines() if line.startswith("moldau: ")]
    assert str(folder / "moldau" / "classes") in told
    assert f"{SWITCH}=off" in told
    # It has its name when it is whole; that of a Java which came without is made before.
    wait_until(
        lambda: any(each.with_suffix(".claim").exists() for each in archives(folder)), LIMIT_S
    )
    return folder


def archives(cache: Path) -> list[Path]:
    return list((cache / "moldau" / "classes").glob("*.jsa"))


def test_a_session_uses_the_archive_that_was_made_before(cache: Path) -> None:
    ran = python(cache, "-c", SESSION)
    assert (ran.stdout, ran.returncode) == ("mapped\n", 0), ran.stderr


def test_there_is_one_archive_and_nothing_half_done_beside_it(cache: Path) -> None:
    before = archives(cache)
    again = python(cache, "-m", "moldau.spark.archive_making")
    assert again.returncode == 0, again.stderr
    assert archives(cache) == before
    names = {each.suffix for each in (cache / "moldau" / "classes").iterdir()}
    assert names == {".jsa", ".claim"}


def test_it_can_be_switched_off(cache: Path) -> None:
    ran = python(cache, "-c", SESSION, **{SWITCH: "off"})
    assert (ran.stdout, ran.returncode) == ("not mapped\n", 0), ran.stderr


@pytest.mark.parametrize("size_noted", [True, False])
def test_what_is_no_archive_is_passed_by_in_silence(cache: Path, size_noted: bool) -> None:
    # The largest: beside it may be that of a Java which came without.
    archive = max(archives(cache), key=lambda each: each.stat().st_size)
    whole, claim = archive.with_suffix(".whole"), archive.with_suffix(".claim")
    size = claim.read_text()
    archive.replace(whole)
    try:
        archive.write_bytes(whole.read_bytes()[:1_000_000] if not size_noted else b"oh" * 50_000)
        if size_noted:
            claim.write_text("100000")
        ran = python(cache, "-c", SESSION)
    finally:
        whole.replace(archive)
        claim.write_text(size)
    assert (ran.stdout, ran.returncode) == ("not mapped\n", 0), ran.stderr
