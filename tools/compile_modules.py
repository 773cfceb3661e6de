"""Compiles the hot modules of this source tree into ``build/compiled``.

    python -m tools.compile_modules

The compilers are in the dependency group ``compile``, in a separate environment that uv creates.
Each build goes into a new folder, and only when it is complete is the link ``build/compiled``
atomically pointed to it. So a process that starts in the meantime uses one complete build or none,
and a running process is not affected (``moldau/compiled.py``).

Bytecode comes first, in seconds: a broker imports its coordinators when somebody first needs them,
and everybody else would wait while Python compiles them.
"""

import compileall
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from moldau.compiled import MANIFEST, fingerprint, is_set, read_build, write_manifest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "moldau"
# What ``moldau.broker.late_imports`` imports while others wait.
IMPORTED_LATE = ("protocol/records", "group_coordinator", "transaction_coordinator")
LINK = ROOT / "build" / "compiled"
BUILDS = ROOT / "build" / "builds"
WITH_COMPILERS = (
    *(str(Path(sys.executable).with_name("uv")), "run", "--isolated", "--frozen", "--quiet"),
    *("--python", sys.executable, "--only-group", "compile", "python"),
)
IMPORT_ALL = """
import sys
from importlib import import_module
from moldau.compiled import CompiledFinder
folder, *names = sys.argv[1:]
sys.meta_path.insert(0, CompiledFinder(folder, names))
for name in names:
    import_module(name)
"""


def main() -> int:
    BUILDS.mkdir(parents=True, exist_ok=True)
    with only_one():
        if is_compiled():
            return 0
        compile_bytecode()
        if not has_compiler():
            return 1 if is_set(os.environ, "MOLDAU_REQUIRE_COMPILED") else 0
        return build()


def is_compiled() -> bool:
    """Whether there is a build of the current sources and build settings."""
    folder = os.path.realpath(LINK)
    if not read_build(folder, PACKAGE)[0]:
        return False
    built = (Path(folder) / MANIFEST).stat().st_mtime
    return all((ROOT / name).stat().st_mtime < built for name in ("setup.py", "pyproject.toml"))


def build() -> int:
    began = monotonic()
    sources = fingerprint(PACKAGE)
    folder = BUILDS / f"{sources}-{os.getpid()}"
    command = [*WITH_COMPILERS, "setup.py", "--quiet", "build_ext", "--build-lib", str(folder)]
    say("compiling the hot modules")
    environment = os.environ | {"MOLDAU_REQUIRE_COMPILED": "1", "MOLDAU_PLAIN": ""}
    is_built = subprocess.run(command, cwd=ROOT, env=environment).returncode == 0
    if not is_built or not can_be_imported(folder, write_manifest(folder, sources)):
        shutil.rmtree(folder, ignore_errors=True)
        say("compiling failed, see above: Moldau runs on plain Python until 'make build' succeeds")
        return 1
    switch_to(folder, LINK)
    say(f"the hot modules are compiled, in {monotonic() - began:.0f} s: the next start uses them")
    return 0


def compile_bytecode() -> None:
    """Write the bytecode of all modules that have changed, those first that are imported late.

    Also if PYTHONDONTWRITEBYTECODE is set: every start would otherwise compile it again.
    """
    for folder in (*(PACKAGE / name for name in IMPORTED_LATE), PACKAGE):
        compileall.compile_dir(folder, quiet=1)


def can_be_imported(folder: Path, names: list[str]) -> bool:
    """Whether all modules of a build can be imported: some errors of mypyc appear only then."""
    command = [sys.executable, "-c", IMPORT_ALL, str(folder), *names]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "MOLDAU_PLAIN": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def switch_to(folder: Path, link: Path) -> None:
    """Make ``folder`` the build for the next process, and delete older builds."""
    before = link.resolve()
    following = link.with_name(f"{link.name}-{os.getpid()}")
    following.symlink_to(folder.relative_to(link.parent))
    following.replace(link)
    for old in folder.parent.iterdir():
        # Keep the previous one: a process that has just started may be about to import from it.
        if old not in (folder, before):
            shutil.rmtree(old)


def has_compiler() -> bool:
    """Whether there is a C compiler; warns if not."""
    named = str(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(named) is not None:
        return True
    say(f"WARNING: there is no C compiler ({named}): Moldau runs on plain Python, 4 to 200 times")
    say("WARNING: slower where it counts. Install one, then run 'make build'.")
    return False


@contextmanager
def only_one() -> Iterator[None]:
    """Hold the lock on compiling in this source tree."""
    with (BUILDS.parent / "compile.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that compiles the hot modules")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(message: str) -> None:
    print(f"moldau: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
