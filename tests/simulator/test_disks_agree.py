"""Without failures, the simulated disk and the real one behave the same."""

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.disk import Disk, DiskFile, RealDisk

T = TypeVar("T")

NAMES = st.sampled_from(["a", "d1/a", "d1/b"])
DIRECTORIES = st.sampled_from(["d1", "d2", "d3"])
DATA = st.binary(max_size=40)
NUMBERS = st.integers(min_value=0, max_value=60)


class DisksAgree(RuleBasedStateMachine):
    """Every step is taken on both disks, and both must answer alike."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        # One descriptor for three files: eviction and reopening happen all the time.
        self.disks: list[tuple[Disk, str]] = [
            (RealDisk(max_open_files=1), self.folder),
            (SimulatedDisk(), "/top"),
        ]
        for disk, top in self.disks:
            disk.make_dirs(os.path.join(top, "d1"))
        self.open_files: dict[str, list[DiskFile]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def both(self, step: Callable[[Disk, str], T]) -> T | None:
        results: list[T | type[OSError]] = []
        for disk, top in self.disks:
            try:
                results.append(step(disk, top))
            except OSError as error:
                results.append(type(error))
        assert results[0] == results[1]
        return None if isinstance(results[0], type) else results[0]

    def both_files(self, name: str, step: Callable[[DiskFile], object]) -> None:
        files = self.open_files.get(name)
        if files is not None:
            assert step(files[0]) == step(files[1])

    @rule(name=NAMES, create=st.booleans())
    def open(self, name: str, create: bool) -> None:
        opened: list[DiskFile] = []

        def step(disk: Disk, top: str) -> int:
            file = disk.open(os.path.join(top, name), create)
            opened.append(file)
            return file.size

        if name not in self.open_files and self.both(step) is not None:
            self.open_files[name] = opened

    @rule(name=NAMES, parts=st.lists(DATA, max_size=4))
    def append(self, name: str, parts: list[bytes]) -> None:
        self.both_files(name, lambda file: file.append(parts))

    @rule(name=NAMES, size=NUMBERS, position=NUMBERS)
    def pread(self, name: str, size: int, position: int) -> None:
        self.both_files(name, lambda file: file.pread(size, position))

    @rule(name=NAMES, size=NUMBERS, position=NUMBERS)
    def region(self, name: str, size: int, position: int) -> None:
        def step(file: DiskFile) -> bytes:
            region = file.region(position, size)
            return region.file.pread(region.size, region.position)

        self.both_files(name, step)

    @rule(name=NAMES, data=DATA, position=NUMBERS)
    def pwrite(self, name: str, data: bytes, position: int) -> None:
        if name in self.open_files:
            position = min(position, self.open_files[name][0].size)
        self.both_files(name, lambda file: file.pwrite(data, position))

    @rule(name=NAMES, size=NUMBERS)
    def truncate(self, name: str, size: int) -> None:
        self.both_files(name, lambda file: file.truncate(min(size, file.size)))

    @rule(name=NAMES, size=NUMBERS)
    def preallocate(self, name: str, size: int) -> None:
        self.both_files(name, lambda file: file.preallocate(size))

    @rule(name=NAMES)
    def fsync(self, name: str) -> None:
        self.both_files(name, lambda file: file.fsync())

    @rule(name=NAMES)
    def close(self, name: str) -> None:
        for file in self.open_files.pop(name, []):
            file.close()

    @rule(name=NAMES, missing_ok=st.booleans())
    def remove(self, name: str, missing_ok: bool) -> None:
        if name not in self.open_files:
            self.both(lambda disk, top: disk.remove(os.path.join(top, name), missing_ok))

    @rule(source=NAMES, destination=NAMES)
    def rename(self, source: str, destination: str) -> None:
        if source not in self.open_files and destination not in self.open_files:
            self.both(
                lambda disk, top: disk.rename(
                    os.path.join(top, source), os.path.join(top, destination)
                )
            )

    @rule(source=NAMES, destination=NAMES)
    def rename_an_open_file(self, source: str, destination: str) -> None:
        folders_exist = self.disks[1][0].is_dir(os.path.dirname(os.path.join("/top", destination)))
        if source in self.open_files and destination not in self.open_files and folders_exist:
            files = self.open_files.pop(source)
            for (_, top), file in zip(self.disks, files, strict=True):
                file.rename(os.path.join(top, destination))
            self.open_files[destination] = files

    @rule(source=DIRECTORIES, destination=DIRECTORIES)
    def rename_a_directory(self, source: str, destination: str) -> None:
        if not any(name.startswith((source, destination)) for name in self.open_files):
            self.both(
                lambda disk, top: disk.rename(
                    os.path.join(top, source), os.path.join(top, destination)
                )
            )

    @rule(name=DIRECTORIES)
    def make_dirs(self, name: str) -> None:
        self.both(lambda disk, top: disk.make_dirs(os.path.join(top, name)))

    @rule(name=DIRECTORIES)
    def remove_tree(self, name: str) -> None:
        if not any(opened.startswith(name) for opened in self.open_files):
            self.both(lambda disk, top: disk.remove_tree(os.path.join(top, name)))

    @rule(name=NAMES, data=DATA)
    def write_atomically(self, name: str, data: bytes) -> None:
        if name not in self.open_files:
            self.both(lambda disk, top: disk.write_atomically(os.path.join(top, name), data, False))

    @rule(name=NAMES)
    def size(self, name: str) -> None:
        self.both(lambda disk, top: disk.size(os.path.join(top, name)))

    @invariant()
    def open_files_are_alike(self) -> None:
        for name in self.open_files:
            self.both_files(name, lambda file: (file.size, file.pread(1000, 0)))

    @invariant()
    def the_trees_are_alike(self) -> None:
        for name in ("", "d1", "d2", "d3"):
            self.both(lambda disk, top, name=name: disk.is_dir(os.path.join(top, name)))  # type: ignore[misc]
            self.both(lambda disk, top, name=name: disk.list_dir(os.path.join(top, name)))  # type: ignore[misc]
        for name in ("a", "d1/a", "d1/b", "d2/a"):
            self.both(lambda disk, top, name=name: disk.read_bytes(os.path.join(top, name)))  # type: ignore[misc]


DisksAgree.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestDisksAgree = DisksAgree.TestCase
