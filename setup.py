"""Builds the package, with its hot modules compiled where that is possible.

The modules of ``COMPILED`` are ordinary Python. Where mypyc and a C compiler are at hand they
are compiled as well and run 4 to 20 times as fast; those of ``KERNEL`` are compiled by Cython
and run 30 to 200 times as fast. Where not, the same modules run as they are. ``MOLDAU_PURE=1``
asks for the plain ones. Everything else is in pyproject.toml.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import MethodType
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# What is worth compiling: work per request, per partition or per field. The modules are
# compiled as one group, so that calls between them stay calls in C.
#
# Not ``storage.disk`` and ``storage.open_files``: they keep a descriptor open by holding a
# reference to it for as long as a call runs, and mypyc lets go of a local after its last use.
COMPILED = (
    "moldau.broker.broker",
    "moldau.broker.delayed_fetch",
    "moldau.broker.dispatch",
    "moldau.broker.dynamic_config",
    "moldau.broker.fetch_sessions",
    "moldau.broker.group_runtime",
    "moldau.broker.group_shard",
    "moldau.broker.handlers.fetch",
    "moldau.broker.handlers.group_offsets",
    "moldau.broker.handlers.groups",
    "moldau.broker.handlers.list_offsets",
    "moldau.broker.handlers.produce",
    "moldau.broker.partition",
    "moldau.broker.replica_manager",
    "moldau.clock",
    "moldau.config.topic",
    "moldau.group_coordinator.classic_group",
    "moldau.group_coordinator.classic_groups",
    "moldau.group_coordinator.classic_member",
    "moldau.group_coordinator.offset_requests",
    "moldau.group_coordinator.offsets",
    "moldau.group_coordinator.outcome",
    "moldau.group_coordinator.records",
    "moldau.group_coordinator.shard",
    "moldau.group_coordinator.timers",
    "moldau.ids",
    "moldau.network.connection",
    "moldau.network.frames",
    "moldau.network.session",
    "moldau.network.writer",
    "moldau.protocol.api",
    "moldau.protocol.file_region",
    "moldau.protocol.header",
    "moldau.protocol.message",
    "moldau.protocol.messages.api_versions",
    "moldau.protocol.messages.consumer_group_heartbeat",
    "moldau.protocol.messages.fetch",
    "moldau.protocol.messages.find_coordinator",
    "moldau.protocol.messages.heartbeat",
    "moldau.protocol.messages.init_producer_id",
    "moldau.protocol.messages.join_group",
    "moldau.protocol.messages.leave_group",
    "moldau.protocol.messages.list_offsets",
    "moldau.protocol.messages.metadata",
    "moldau.protocol.messages.offset_commit",
    "moldau.protocol.messages.offset_fetch",
    "moldau.protocol.messages.produce",
    "moldau.protocol.messages.sync_group",
    "moldau.protocol.reading",
    "moldau.protocol.records.group_coordinator",
    "moldau.protocol.records.metadata",
    "moldau.protocol.writing",
    "moldau.record.control",
    "moldau.record.fitting",
    "moldau.record.header",
    "moldau.record.produced",
    "moldau.record.records",
    "moldau.record.validator",
    "moldau.storage.batch_scan",
    "moldau.storage.checked_bytes",
    "moldau.storage.deleted_files",
    "moldau.storage.index_file",
    "moldau.storage.leader_append",
    "moldau.storage.leader_epochs",
    "moldau.storage.log_flusher",
    "moldau.storage.log_reader",
    "moldau.storage.log_results",
    "moldau.storage.offset_index",
    "moldau.storage.partition_log",
    "moldau.storage.producer_entry",
    "moldau.storage.producer_snapshot",
    "moldau.storage.producer_state",
    "moldau.storage.segment",
    "moldau.storage.segment_list",
    "moldau.storage.time_index",
)

# What loops over single records, and lets other threads run meanwhile: mypyc cannot. The types
# in C are in the ``.pxd`` file beside each.
KERNEL = (
    "moldau.record.batch_run",
    "moldau.record.columns",
    "moldau.record.gather",
    "moldau.record.key_hash",
    "moldau.record.offset_map",
    "moldau.record.rebase",
    "moldau.record.refused",
    "moldau.record.renumber",
    "moldau.record.retention_filter",
    "moldau.record.run_filter",
    "moldau.record.scatter",
    "moldau.record.walk",
)
# The kernel checks what it reads and writes itself, and the types of its annotations are
# Python's.
CYTHON_DIRECTIVES = {
    "language_level": "3",
    "annotation_typing": False,
    "boundscheck": False,
    "initializedcheck": False,
    "wraparound": False,
}

# Types come from the sources alone: other packages need not be there to build this one, and
# type errors are the business of ``make check``.
MYPY_OPTIONS = ("--config-file=", "--ignore-missing-imports", "--follow-imports=silent")


# mypyc reports every error through these.
COLD_ERRORS = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define COLD __attribute__((cold))
void CPyError_OutOfMemory(void) COLD;
void CPy_TypeError(const char *, PyObject *) COLD;
void CPy_AddTraceback(const char *, const char *, int, PyObject *) COLD;
void CPy_TypeErrorTraceback(const char *, const char *, int, PyObject *, const char *, PyObject *)
    COLD;
void CPy_AttributeError(const char *, const char *, const char *, const char *, int, PyObject *)
    COLD;
#undef COLD
"""


def say(message: str) -> None:
    print(f"moldau: {message}", file=sys.stderr)


def source_of(module: str) -> str:
    path = Path("src", *module.split(".")).with_suffix(".py")
    if not path.exists():
        raise SystemExit(f"setup.py names {module} to be compiled, but there is no {path}")
    return str(path)


def keep_close_together(found: list[Extension]) -> None:
    """Compile so that the code of one request takes few lines of the processor's caches.

    A broker that is asked now and then finds its caches cold each time, and then bytes of
    code cost more than steps. So calls go straight to their target instead of through a
    table, and what handles errors is told apart and put elsewhere.
    """
    header = Path("build", "cold_errors.h")
    header.parent.mkdir(exist_ok=True)
    header.write_text(COLD_ERRORS)
    for extension in found:
        extension.extra_compile_args += ["-include", str(header), "-fvisibility=hidden"]
        if sys.platform == "linux":
            extension.extra_link_args += ["-Wl,-Bsymbolic"]


def extensions() -> list[Extension]:
    """The C extensions to build; none where only plain Python is wanted or possible."""
    paths = [source_of(module) for module in COMPILED]
    kernel = {module: source_of(module) for module in KERNEL}
    if os.environ.get("MOLDAU_PURE", "") not in ("", "0"):
        say("MOLDAU_PURE is set: plain Python")
        return []
    if not {"build_ext", "bdist_wheel", "editable_wheel", "install", "develop"} & set(sys.argv):
        return []
    return [*compiled_by_mypyc(paths), *compiled_by_cython(kernel)]


def compiled_by_mypyc(paths: list[str]) -> list[Extension]:
    try:
        from mypyc.build import mypycify

        found = mypycify(
            [*MYPY_OPTIONS, *paths],
            opt_level="2",
            debug_level="0",
            multi_file=True,
            group_name="moldau",
        )
        if sys.platform != "win32":
            keep_close_together(found)
        return found
    except ImportError as error:
        say(f"no mypyc, plain Python instead ({error})")
    except SystemExit:
        # mypyc has printed why.
        say("mypyc refuses the sources, plain Python instead")
    return []


def compiled_by_cython(sources: dict[str, str]) -> list[Extension]:
    flags = ["-O3", "-g0"]
    try:
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError

        return cythonize(
            [
                Extension(module, [path], extra_compile_args=flags)
                for module, path in sources.items()
            ],
            build_dir="build",
            include_path=["src"],
            compiler_directives=CYTHON_DIRECTIVES,
            quiet=True,
        )
    except ImportError as error:
        say(f"no Cython, a plain record kernel instead ({error})")
    except CompileError:
        # Cython has printed why.
        say("Cython refuses the record kernel, a plain one instead")
    return []


def compile_in_parallel(
    compiler: Any,
    sources: Sequence[str],
    output_dir: str | None = None,
    macros: Any = None,
    include_dirs: Any = None,
    debug: bool = False,
    extra_preargs: Any = None,
    extra_postargs: Any = None,
    depends: Any = None,
) -> list[str]:
    """The compiler's own ``compile``, with as many files at a time as there are cores.

    An editable install builds in a fresh folder every time. What was compiled from the same
    source before is kept in ``build/objects``, so that a change elsewhere costs nothing here.
    """
    macros, objects, extra_postargs, pp_opts, build = compiler._setup_compile(
        output_dir, macros, include_dirs, sources, depends, extra_postargs
    )
    cc_args = compiler._get_cc_args(pp_opts, debug, extra_preargs)
    # Not the paths of headers: those of Python and mypyc follow from their versions.
    flags = repr((sys.version, version("mypy"), compiler.compiler_so, extra_postargs))
    headers = b"".join(path.read_bytes() for path in sorted(Path("build").glob("*.h")))

    def compile_one(target: str) -> None:
        if target not in build:
            return
        source, suffix = build[target]
        key = hashlib.sha256(flags.encode() + headers + Path(source).read_bytes()).hexdigest()
        known = Path("build", "objects", key)
        if not known.exists():
            compiler._compile(target, source, suffix, cc_args, extra_postargs, pp_opts)
            known.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, known)
        shutil.copyfile(known, target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(compile_one, objects):
            pass
    return list(objects)


class BuildExtensions(build_ext):
    """Builds all extensions or, if one of them fails, none."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            say(f"no extensions, plain Python instead ({error})")
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []

    def build_extensions(self) -> None:
        self.compiler.compile = MethodType(compile_in_parallel, self.compiler)
        super().build_extensions()


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
