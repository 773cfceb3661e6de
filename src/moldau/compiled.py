"""Selects the compiled hot modules or their plain Python sources.

The hot modules are ordinary Python. ``setup.py`` lists them and compiles them with mypyc and
Cython; compiled, they are 4 to 200 times as fast. A wheel has the compiled modules next to their
sources. A source tree has them in ``build/compiled``, where this module finds them.
``moldau/__init__.py`` calls ``choose`` before any other import, so a process chooses once and never
mixes the two, even if the modules are compiled while it runs.

Rules this module keeps:

* Compiled modules are used only if they were built from exactly the current sources, by a build
  that completed: ``build/compiled`` is a link to a complete folder.
* ``MOLDAU_PLAIN=1`` runs the plain sources even if compiled modules exist.
* ``MOLDAU_REQUIRE_COMPILED=1`` makes it an error to start without compiled modules.
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
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    # Only for types: every process imports this module, and a broker uses no paths of this kind.
    from pathlib import Path

MANIFEST: Final = "MANIFEST"

# These packages are above all compiled modules in the import order, so an edit in them does not
# invalidate the compiled modules.
_ABOVE: Final = frozenset(
    {"cli", "connect", "examples", "simulator", "spark", "sql", "streams", "__pycache__"}
)

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))
# In a source tree, this folder is called "src".
_PARENT: Final = os.path.dirname(_PACKAGE)

# Why this process runs plain sources; empty if it does not, or if ``choose`` left the choice to
# Python's import system.
_reason = ""


class NotCompiledError(Exception):
    """Compiled modules are required but not available."""


class CompiledFinder:
    """Finds the modules of one completed build, by name."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        suffix = EXTENSION_SUFFIXES[0]
        self._files = {name: os.path.join(folder, *name.split(".")) + suffix for name in names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._files.get(name)
        return None if file is None else spec_from_file_location(name, file)


class SourceFinder:
    """Finds the sources of this package, even if compiled modules are next to them."""

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
    """Choose for this process. To be called before any other module of the package is imported."""
    global _reason
    if is_set(environment, "MOLDAU_PLAIN"):
        sys.meta_path.insert(0, SourceFinder())
        _reason = "MOLDAU_PLAIN is set"
    elif os.path.basename(_PARENT) == "src":
        folder = os.path.realpath(os.path.join(os.path.dirname(_PARENT), "build", "compiled"))
        names, _reason = read_build(folder, _PACKAGE)
        if names:
            sys.meta_path.insert(0, CompiledFinder(folder, names))


def read_build(folder: str, package: "str | Path") -> tuple[list[str], str]:
    """The compiled modules in a folder, or an empty list and the reason not to use them."""
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


def write_manifest(folder: "Path", sources: str) -> list[str]:
    """Write the fingerprint of the sources into a complete build; returns its modules."""
    suffix = EXTENSION_SUFFIXES[0]
    files = sorted(folder.rglob(f"*{suffix}"))
    names = [str(file.relative_to(folder)).removesuffix(suffix).replace("/", ".") for file in files]
    (folder / MANIFEST).write_text("\n".join([suffix, sources, *names]), encoding="utf-8")
    return names


def fingerprint(package: "str | Path") -> str:
    """A checksum that changes with every edit of the files that the compiled modules depend on.

    These are not only their own sources: mypyc relies on the types that other modules declare.
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
    """Log which of the two this process runs; for plain sources a warning, with the remedy.

    Raises:
        NotCompiledError: it runs plain sources, and MOLDAU_REQUIRE_COMPILED is set.
    """
    # Imported late: every command imports this module, but only a broker needs logging.
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
    if os.path.basename(_PARENT) == "src":
        return "'make build' compiles them, for the next start."
    return (
        "With a C compiler on the path, 'MOLDAU_REQUIRE_COMPILED=1 pip install --force-reinstall "
        "--no-deps --no-cache-dir moldau' compiles them, or says why it cannot."
    )


def is_set(environment: Mapping[str, str], name: str) -> bool:
    """Whether a variable is set, and neither empty nor 0."""
    return environment.get(name, "") not in ("", "0")
