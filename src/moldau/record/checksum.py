"""CRC-32C, the checksum of record batches and of much else in Kafka's files.

The ``crc32c`` package is a small extension module inside a package whose import also reads
its own metadata and builds a command line: 20 ms, a good part of a broker's start. So the
extension is loaded by itself, under its own name; a later ``import crc32c`` finds it there.
"""

import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any, Final

_EXTENSION: Final = "crc32c._crc32c"


def _load() -> Any:
    if _EXTENSION in sys.modules:
        return sys.modules[_EXTENSION]
    package = PathFinder.find_spec("crc32c")
    locations = None if package is None else package.submodule_search_locations
    spec = None if locations is None else PathFinder.find_spec(_EXTENSION, locations)
    if spec is None or spec.loader is None:
        # Installed in some other way, or not at all: let the import say so.
        import crc32c

        return crc32c
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_EXTENSION] = module
    return module


# Takes anything with a buffer, and the checksum of what came before it.
crc32c: Final[Callable[..., int]] = _load().crc32c


def crc32c_of(data: bytes | bytearray, start: int, end: int) -> int:
    """The checksum of a part, for the record kernel: compiled, it has that of ``crc32c.pxd``."""
    return crc32c(memoryview(data)[start:end])
