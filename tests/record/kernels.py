"""The record kernel in both forms: as installed, and in plain Python.

If the modules are compiled, their plain sources are next to them and must do the same. ``KERNELS``
has one or both, to parametrize tests with.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# In the order in which they import each other.
MODULES = (
    "moldau.record.columns",
    "moldau.record.batch_run",
    "moldau.record.offset_map",
    "moldau.record.retention_filter",
    "moldau.record.run_filter",
    "moldau.record.rebase",
    "moldau.record.gather",
    "moldau.record.key_hash",
    "moldau.record.scatter",
    "moldau.record.renumber",
    "moldau.record.refused",
    "moldau.record.replicated_run",
    "moldau.record.row_json",
    "moldau.record.walk",
)


class Kernel:
    """The names of all its modules."""

    def __init__(self, modules: list[ModuleType]) -> None:
        columns, batch_run, offset_map, retention_filter, run_filter, rebase, *writing = modules
        gather, key_hash, scatter, renumber, refused, replicated_run, row_json, walk = writing
        self.is_compiled = not str(columns.__file__).endswith(".py")
        self.index_records = columns.index_records
        self.find_run = batch_run.find_run
        self.OffsetMap = offset_map.OffsetMap
        self.hash_key = offset_map._hash
        self.filter_records = retention_filter.filter_records
        self.RunFilter = run_filter.RunFilter
        self.rebase_timestamps = rebase.rebase_timestamps
        self.Gathered = gather.Gathered
        self.index_headers = gather.index_headers
        self.murmur2 = key_hash.murmur2
        self.hash_keys = key_hash.hash_keys
        self.write_records = scatter.write_records
        self.renumber = renumber.renumber
        self.first_timestamp_delta = renumber.first_timestamp_delta
        self.RefusedRecords = refused.RefusedRecords
        self.find_replicated = replicated_run.find_replicated
        self.RowPlan = row_json.RowPlan
        self.write_row = row_json.write_row
        self.RecordFacts = walk.RecordFacts
        self.walk_records = walk.walk_records
        self.walk_apart = walk.walk_apart
        self.end_of_whole = walk.end_of_whole
        self.size_of_first = walk.size_of_first


def load_plain() -> Kernel:
    """The sources, whether or not something compiled would be found before them."""
    installed = {name: sys.modules.get(name) for name in MODULES}
    folder = Path(str(import_module("moldau.record").__file__)).parent
    modules = []
    try:
        for name in MODULES:
            source = folder / (name.rpartition(".")[2] + ".py")
            spec = spec_from_file_location(name, source)
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            modules.append(module)
    finally:
        for name, was in installed.items():
            if was is None:
                del sys.modules[name]
            else:
                sys.modules[name] = was
    return Kernel(modules)


INSTALLED = Kernel([import_module(name) for name in MODULES])
PLAIN = load_plain() if INSTALLED.is_compiled else INSTALLED
KERNELS = [INSTALLED, PLAIN] if INSTALLED.is_compiled else [PLAIN]


def both_kernels(test: Any) -> Any:
    """Run a test with every kernel that is here, as its argument ``kernel``."""
    names = ["compiled" if kernel.is_compiled else "plain" for kernel in KERNELS]
    return pytest.mark.parametrize("kernel", KERNELS, ids=names)(test)
