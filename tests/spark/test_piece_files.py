"""Bytes passed from one stage to the next in files, which are deleted afterwards."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from moldau.spark.errors import PipelineError
from moldau.spark.piece_files import PieceFile, PieceReader, Place, piece_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_piece_is_read_from_where_it_was_put(tmp_path: Path) -> None:
    with PieceFile(str(tmp_path)) as first, PieceFile(str(tmp_path)) as second:
        put = [
            (file.put(data), data) for data in (b"a", b"", b"bc" * 99) for file in (first, second)
        ]
        # Before the files are closed: a task may be read while others still write.
        with PieceReader() as reader:
            assert [reader.read(place) for place, _ in reversed(put)] == [
                data for _, data in reversed(put)
            ]
    assert len({place.file for place, _ in put}) == 2


def test_bytes_that_are_not_there_are_missed(tmp_path: Path) -> None:
    with PieceFile(str(tmp_path)) as file:
        place = file.put(b"abc")
    with PieceReader() as reader:
        with pytest.raises(PipelineError, match="has 1 of 3 bytes at 2"):
            reader.read(place._replace(position=2))
        with pytest.raises(PipelineError, match="No such file"):
            reader.read(Place(str(tmp_path / "nowhere"), 0, 1))


def test_a_full_disk_is_said_with_the_setting_that_moves_the_files() -> None:
    file = PieceFile.__new__(PieceFile)
    with Path("/dev/full").open("wb", buffering=0) as full:
        file._descriptor, file._path, file._end = full.fileno(), "/dev/full", 0
        with pytest.raises(PipelineError, match=r"No space left on device; .* spark.local.dir"):
            file.put(b"abc")


def test_the_files_of_a_batch_go_with_it(spark: "SparkSession") -> None:
    with pytest.raises(ValueError, match="as it may be"), piece_folder(spark) as folder:
        assert folder is not None
        with PieceFile(folder) as file:
            file.put(b"abc")
        assert len(list(Path(folder).iterdir())) == 1
        raise ValueError("the batch fails, as it may be")
    assert not Path(folder).exists()


def test_machines_of_a_cluster_share_no_folder() -> None:
    cluster: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://there:7077"))
    with piece_folder(cluster) as folder:
        assert folder is None
