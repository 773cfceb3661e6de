"""CRC-32C, the checksum of record batches and of several other files of Kafka.

The ``crc32c`` package is a small extension module in a package whose import also reads package
metadata and builds a command line parser: 20 ms, a considerable part of a broker's startup. So only
the extension is loaded, under its own name; a later ``import crc32c`` finds it there.
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
        # Installed in another way, or not at all: let the import report it.
        import crc32c

        return crc32c
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_EXTENSION] = module
    return module


# Takes any buffer, and optionally the checksum of the data before it.
crc32c: Final[Callable[..., int]] = _load().crc32c


def crc32c_of(data: bytes | bytearray, start: int, end: int) -> int:
    """The checksum of a range, for the record kernel; compiled code uses that of ``crc32c.pxd``."""
    return crc32c(memoryview(data)[start:end])
