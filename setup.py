"""Builds the package, with its hot modules compiled.

The modules of ``COMPILED`` are ordinary Python that mypyc compiles; they then run 4 to 20 times
as fast. Those of ``KERNEL`` are compiled by Cython and run 30 to 200 times as fast. Without
compiled modules the same sources run as they are.

A wheel has compiled modules if it can: where a compiler is missing or something fails, it has
none of them, and says so. With ``MOLDAU_REQUIRE_COMPILED=1`` that is an error, with
``MOLDAU_PLAIN=1`` nothing is compiled. An editable install compiles nothing; ``make build``
does (``tools/compile_modules.py``). Everything else is in pyproject.toml.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

# What is worth compiling: work per request, per partition or per field. What is not, with
# figures, is in docs/decisions/0001-mypyc-for-what-is-hot.md. The modules are compiled as one
# group, so that calls between them stay calls in C.
#
# Not ``storage.disk.disk`` and ``storage.disk.open_files``: they keep a descriptor open by holding
# a reference to it for as long as a call runs, and mypyc lets go of a local after its last use.
COMPILED = (
    "moldau.broker.commit_queue",
    "moldau.broker.coordinator_runtime",
    "moldau.broker.counted_end",
    "moldau.broker.delayed_fetch",
    "moldau.broker.dispatch",
    "moldau.broker.fetch_parts",
    "moldau.broker.fetch_reading",
    "moldau.broker.fetch_session",
    "moldau.broker.fetch_sessions",
    "moldau.broker.fetching",
    "moldau.broker.group_runtime",
    "moldau.broker.hosted_shard",
    "moldau.broker.handlers.fetch",
    "moldau.broker.handlers.group_offsets",
    "moldau.broker.handlers.groups",
    "moldau.broker.handlers.list_offsets",
    "moldau.broker.handlers.produce",
    "moldau.broker.handlers.transactional_produce",
    "moldau.broker.handlers.transactions",
    "moldau.broker.leadership",
    "moldau.broker.led_partitions",
    "moldau.broker.marker_sending",
    "moldau.broker.marker_writing",
    "moldau.broker.partition",
    "moldau.broker.replica_manager",
    "moldau.broker.transaction_runtime",
    "moldau.broker.transaction_verification",
    "moldau.broker.uncommitted_bytes",
    "moldau.broker.unfinished_transaction",
    "moldau.broker.version_answers",
    "moldau.clock",
    "moldau.config.topic",
    "moldau.coordinator.outcome",
    "moldau.group_coordinator.classic_group",
    "moldau.group_coordinator.classic_groups",
    "moldau.group_coordinator.classic_member",
    "moldau.group_coordinator.offset_requests",
    "moldau.group_coordinator.offsets",
    "moldau.group_coordinator.records",
    "moldau.group_coordinator.request_context",
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
    "moldau.protocol.messages.add_partitions_to_txn",
    "moldau.protocol.messages.api_versions",
    "moldau.protocol.messages.consumer_group_heartbeat",
    "moldau.protocol.messages.end_txn",
    "moldau.protocol.messages.fetch",
    "moldau.protocol.messages.heartbeat",
    "moldau.protocol.messages.list_offsets",
    "moldau.protocol.messages.metadata",
    "moldau.protocol.messages.offset_commit",
    "moldau.protocol.messages.offset_fetch",
    "moldau.protocol.messages.produce",
    "moldau.protocol.reading",
    "moldau.protocol.records.offset_commit",
    "moldau.protocol.records.transaction_coordinator",
    "moldau.protocol.writing",
    "moldau.record.control",
    "moldau.record.fitting",
    "moldau.record.header",
    "moldau.record.produced",
    "moldau.record.records",
    "moldau.record.validator",
    "moldau.replica.followed_partitions",
    "moldau.replica.follower_state",
    "moldau.replica.leader_state",
    "moldau.replica.record_slices",
    "moldau.replica.remote_replica",
    "moldau.storage.log.batch_scan",
    "moldau.storage.log.checked_bytes",
    "moldau.storage.index.index_file",
    "moldau.storage.log.log_appender",
    "moldau.storage.log.log_reader",
    "moldau.storage.log.log_results",
    "moldau.storage.log.log_state",
    "moldau.storage.log.log_tail",
    "moldau.storage.index.offset_index",
    "moldau.storage.log.partition_log",
    "moldau.storage.log.producer_chunks",
    "moldau.storage.log.producer_entry",
    "moldau.storage.log.producer_replay",
    "moldau.storage.log.producer_snapshot",
    "moldau.storage.log.producer_state",
    "moldau.storage.log.segment",
    "moldau.storage.log.segment_list",
    "moldau.storage.log.verification",
    "moldau.storage.index.time_index",
    "moldau.timers",
    "moldau.transaction_coordinator.add_partitions",
    "moldau.transaction_coordinator.context",
    "moldau.transaction_coordinator.end_txn",
    "moldau.transaction_coordinator.prepared",
    "moldau.transaction_coordinator.records",
    "moldau.transaction_coordinator.shard",
    "moldau.transaction_coordinator.status",
    "moldau.transaction_coordinator.transaction",
    "moldau.transaction_coordinator.transitions",
    "moldau.transaction_coordinator.upkeep",
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
    "moldau.record.replicated_run",
    "moldau.record.retention_filter",
    "moldau.record.row_json",
    "moldau.record.run_filter",
    "moldau.record.scatter",
    "moldau.record.walk",
)
# What Cython puts into every module that has typed memory: once for all of them, which halves
# the time that they take to compile.
SHARED = "moldau.record.cython_shared"
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


# An object file is made again if one of these is newer: they have the flags, and the versions of
# the compilers.
BUILT_BY = ("setup.py", "pyproject.toml")


def say(message: str) -> None:
    print(f"moldau: {message}", file=sys.stderr, flush=True)


def is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def give_up(reason: str) -> None:
    """Go on without compiled modules, unless they are required."""
    if is_set("MOLDAU_REQUIRE_COMPILED"):
        raise SystemExit(f"moldau: MOLDAU_REQUIRE_COMPILED is set, but {reason}")
    say("WARNING: THIS BUILD HAS NO COMPILED MODULES and will run 4 to 200 times slower")
    say(f"WARNING: {reason}")


def source_of(module: str) -> str:
    path = Path("src", *module.split(".")).with_suffix(".py")
    if not path.exists():
        raise SystemExit(f"setup.py names {module} to be compiled, but there is no {path}")
    return str(path)


def extensions() -> list[Extension]:
    """The C extensions to build: all of them, or none."""
    paths = [source_of(module) for module in COMPILED]
    kernel = {module: source_of(module) for module in KERNEL}
    if not {"build_ext", "bdist_wheel", "install"} & set(sys.argv):
        return []
    if is_set("MOLDAU_PLAIN"):
        say("MOLDAU_PLAIN is set: nothing is compiled")
        return []
    try:
        return [*compiled_by_mypyc(paths), *compiled_by_cython(kernel)]
    except ImportError as error:
        give_up(f"mypyc or Cython is missing ({error})")
    except (Exception, SystemExit) as error:
        # The compiler has printed why.
        give_up(f"mypyc or Cython refuses the sources ({error})")
    return []


def compiled_by_mypyc(paths: list[str]) -> list[Extension]:
    from mypyc.build import mypycify

    say(f"mypyc translates {len(paths)} modules to C")
    found = mypycify(
        [*MYPY_OPTIONS, *paths],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name="moldau",
    )
    keep_close_together(found)
    return found


def keep_close_together(found: list[Extension]) -> None:
    """Compile so that the code of one request takes few lines of the processor's caches.

    A broker that is asked now and then finds its caches cold each time, and then bytes of
    code cost more than steps. So calls go straight to their target instead of through a
    table, and what handles errors is told apart and put elsewhere.
    """
    header = Path("build", "cold_errors.h")
    header.parent.mkdir(exist_ok=True)
    if not header.exists() or header.read_text() != COLD_ERRORS:
        header.write_text(COLD_ERRORS)
    for extension in found:
        # New lists: mypyc gives all extensions the same.
        flags = ["-include", str(header), "-fvisibility=hidden"]
        extension.extra_compile_args = [*extension.extra_compile_args, *flags]
        if sys.platform == "linux":
            extension.extra_link_args = [*extension.extra_link_args, "-Wl,-Bsymbolic"]


def compiled_by_cython(sources: dict[str, str]) -> list[Extension]:
    from Cython.Build import cythonize

    say(f"Cython translates {len(sources)} modules to C")
    flags = ["-O3", "-g0"]
    shared = Path("build", *SHARED.split(".")).with_suffix(".c")
    shared.parent.mkdir(parents=True, exist_ok=True)
    if newer_group(BUILT_BY, str(shared)):
        command = [sys.executable, "-m", "cython", f"--generate-shared={shared}"]
        subprocess.run(command, check=True)
    found = cythonize(
        [Extension(module, [path], extra_compile_args=flags) for module, path in sources.items()],
        shared_utility_qualified_name=SHARED,
        build_dir="build",
        include_path=["src"],
        compiler_directives=CYTHON_DIRECTIVES,
        quiet=True,
    )
    return [*found, Extension(SHARED, [str(shared)], extra_compile_args=["-O2", "-g0"])]


class BuildExtensions(build_ext):
    """Builds all extensions or, if one of them fails, none.

    C files are compiled side by side, and not again if nothing has changed: what was compiled
    by a build that was interrupted is there for the next.
    """

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []
            give_up(f"the C compiler failed ({error})")

    def build_extensions(self) -> None:
        found = [
            (extension, source) for extension in self.extensions for source in extension.sources
        ]
        # The longest first, so that no core is left alone with one at the end.
        found.sort(key=lambda pair: -Path(pair[1]).stat().st_size)
        self.parallel = self.parallel or os.cpu_count() or 1
        say(f"the C compiler has {len(found)} files, {self.parallel} at a time")
        pool = ThreadPoolExecutor(self.parallel)
        try:
            made = pool.map(self.compile_source, *zip(*found, strict=True))
            for done, ((extension, _), target) in enumerate(zip(found, made, strict=True), 1):
                extension.extra_objects.append(target)
                if done % 20 == 0:
                    say(f"{done} of {len(found)} files are compiled")
        finally:
            # After a failure the rest is not worth it.
            pool.shutdown(cancel_futures=True)
        for extension in self.extensions:
            # What is left to do for each is to link it.
            extension.sources, extension.depends = [], extension.extra_objects
        super().build_extensions()

    def compile_source(self, extension: Extension, source: str) -> str:
        """Compile one file, if it has changed, and give the path of the object."""
        (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        if newer_group([source, *extension.depends, *BUILT_BY], target):
            (unfinished,) = self.compiler.compile(
                [source],
                output_dir=str(Path(self.build_temp, "unfinished")),
                macros=extension.define_macros,
                include_dirs=extension.include_dirs,
                extra_postargs=extension.extra_compile_args,
            )
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(unfinished).replace(target)
        return str(target)


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
