"""The file of a standalone worker's offsets, as Java's serialization writes it."""

from pathlib import Path

import pytest

from moldau.connect.data.errors import ConnectError
from moldau.connect.stores.offset_file import OffsetFile, decode, encode
from moldau.connect.stores.offset_store import OffsetStore

# What a Java program wrote with ObjectOutputStream: a HashMap of two entries of byte arrays.
BY_JAVA = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163"
    "746f724900097468726573686f6c6478703f4000000000000c770800000010000000027572"
    "00025b42acf317f8060854e0020000787000000002"
    "6b317571007e000200000002763175"
    "71007e0002000000026b327571007e0002000000027632"
    "78"
)


def test_what_java_wrote_is_read() -> None:
    assert decode(BY_JAVA) == {b"k1": b"v1", b"k2": b"v2"}


def test_what_is_written_is_what_java_would_write() -> None:
    assert encode({b"k1": b"v1", b"k2": b"v2"}) == BY_JAVA


@pytest.mark.parametrize("count", [0, 1, 12, 13, 1000])
def test_any_number_of_entries_comes_back(count: int) -> None:
    entries: dict[bytes, bytes | None] = {b"%d" % each: b"v" * each for each in range(count)}
    assert decode(encode(entries)) == entries


@pytest.mark.parametrize("size", range(len(BY_JAVA)))
def test_a_file_that_was_cut_is_refused(size: int) -> None:
    with pytest.raises(ValueError):
        decode(BY_JAVA[:size])


def test_offsets_survive_the_worker(tmp_path: Path) -> None:
    path = tmp_path / "connect.offsets"
    store = OffsetStore(OffsetFile(str(path)))
    store.start()
    store.write("a", [({"file": "x"}, {"position": 1}), ({"file": "y"}, {"position": 2})])
    store.write("a", [({"file": "x"}, {"position": 3}), ({"file": "y"}, None)])
    assert store.read("a") == [({"file": "x"}, {"position": 3})]
    again = OffsetStore(OffsetFile(str(path)))
    again.start()
    assert again.read("a") == [({"file": "x"}, {"position": 3})]
    assert list(tmp_path.iterdir()) == [path]


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk, bread")
    with pytest.raises(ConnectError, match=r"notes.txt: is not a file of source offsets"):
        OffsetStore(OffsetFile(str(path))).start()
    assert path.read_text() == "milk, bread"
