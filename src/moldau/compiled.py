"""Which of the two runs: the compiled hot modules or their plain sources.

The hot modules are ordinary Python. ``setup.py`` names them and compiles them with mypyc and
Cython; compiled they run 4 to 200 times as fast. A wheel has the compiled modules beside their
sources. A source tree has them in a folder of their own, ``build/compiled``, and this module
finds them there. ``moldau/__init__.py`` calls ``choose`` before anything else is imported, so
a process makes the choice once and never mixes the two, whatever is compiled while it runs.

Rules this module keeps:

* Compiled modules are used only if they were made from exactly the sources that are there, by
  a build that finished: ``build/compiled`` is a link to a folder that is complete.
* ``MOLDAU_PLAIN=1`` runs the sources even where compiled modules are there.
* ``MOLDAU_REQUIRE_COMPILED=1`` makes a start on plain sources an error.
"""

import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

MANIFEST: Final = "MANIFEST"

# No compiled module imports from these packages, which are above all of them, so that an edit
# there leaves the compiled modules valid.
_ABOVE: Final = frozenset({"cli", "examples", "spark", "streams", "__pycache__"})

_PACKAGE: Final = Path(__file__).parent

# Why this process runs plain sources; empty if it does not, or if ``choose`` left the question
# to Python's own import.
_reason = ""


class NotCompiledError(Exception):
    """Compiled modules are required, and there are none."""


class CompiledFinder:
    """Finds the modules of one finished build, by name."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        suffix = EXTENSION_SUFFIXES[0]
        self._files = {name: os.path.join(folder, *name.split(".")) + suffix for name in names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._files.get(name)
        return None if file is None else spec_from_file_location(name, file)


class SourceFinder:
    """Finds this package's sources, also where compiled modules are beside them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not name.startswith("moldau."):
            return None
        for folder in path:
            found = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name)
            if found is not None and found.loader is not None:
                return found
        return None


def choose(environment: Mapping[str, str] = os.environ) -> None:
    """Decide for this process. To be called before any other module of the package is imported."""
    global _reason
    if is_set(environment, "MOLDAU_PLAIN"):
        sys.meta_path.insert(0, SourceFinder())
        _reason = "MOLDAU_PLAIN is set"
    elif _PACKAGE.parent.name == "src":
        folder = os.path.realpath(_PACKAGE.parents[1] / "build" / "compiled")
        names, _reason = read_build(folder, _PACKAGE)
        if names:
            sys.meta_path.insert(0, CompiledFinder(folder, names))


def read_build(folder: str, package: Path) -> tuple[list[str], str]:
    """The modules in a folder of compiled ones, or none and the reason not to use them."""
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            suffix, sources, *names = file.read().split("\n")
    except FileNotFoundError:
        return [], "the hot modules are not compiled yet"
    if suffix != EXTENSION_SUFFIXES[0]:
        return [], "the hot modules were compiled for another version of Python"
    if sources != fingerprint(package):
        return [], "sources were edited since the hot modules were compiled"
    return names, ""


def write_manifest(folder: Path, sources: str) -> list[str]:
    """Say of a folder with all compiled modules what they were made from; gives their names."""
    suffix = EXTENSION_SUFFIXES[0]
    files = sorted(folder.rglob(f"*{suffix}"))
    names = [str(file.relative_to(folder)).removesuffix(suffix).replace("/", ".") for file in files]
    (folder / MANIFEST).write_text("\n".join([suffix, sources, *names]), encoding="utf-8")
    return names


def fingerprint(package: Path) -> str:
    """Changes with every edit of what the compiled modules depend on.

    They depend on more than their own sources: mypyc relies on the types that other modules
    declare.
    """
    known = 0
    for path, size, modified_ns in sorted(_sources(str(package), is_top=True)):
        known = zlib.crc32(f"{path[len(str(package)) :]} {size} {modified_ns}\n".encode(), known)
    return f"{known:08x}"


def _sources(folder: str, is_top: bool) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".pxd")):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.is_dir() and not (is_top and entry.name in _ABOVE):
                yield from _sources(entry.path, is_top=False)


def is_compiled() -> bool:
    """Whether this process runs the compiled modules."""
    found = find_spec("moldau.protocol.reading")
    return found is not None and str(found.origin).endswith(EXTENSION_SUFFIXES[0])


def check(environment: Mapping[str, str] = os.environ) -> None:
    """Log which of the two this process runs; a warning if plain, with the remedy.

    Raises:
        NotCompiledError: it runs plain, and MOLDAU_REQUIRE_COMPILED is set.
    """
    # Only a broker needs it, and every command imports this module.
    from logging import getLogger

    logger = getLogger(__name__)
    if is_compiled():
        logger.info("Running on compiled modules (MOLDAU_PLAIN=1 runs the plain sources)")
        return
    message = (
        f"{_reason or 'the hot modules were not compiled when this package was built'}. {_remedy()}"
    )
    if is_set(environment, "MOLDAU_REQUIRE_COMPILED"):
        raise NotCompiledError(f"MOLDAU_REQUIRE_COMPILED is set, but {message}")
    logger.warning("Running on plain Python, 4 to 200 times slower where it counts: %s", message)


def _remedy() -> str:
    if _reason.startswith("MOLDAU_PLAIN"):
        return "Unset it to run the compiled modules."
    if _PACKAGE.parent.name == "src":
        return "'make build' compiles them, for the next start."
    return (
        "With a C compiler on the path, 'MOLDAU_REQUIRE_COMPILED=1 pip install --force-reinstall "
        "--no-deps --no-cache-dir moldau' compiles them, or says why it cannot."
    )


def is_set(environment: Mapping[str, str], name: str) -> bool:
    """Whether a switch is on: neither missing, empty nor 0."""
    return environment.get(name, "") not in ("", "0")
