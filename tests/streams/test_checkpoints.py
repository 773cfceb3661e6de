"""The progress of a query, from Spark's checkpoint files."""

from pathlib import Path

import pytest

from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.streams.checkpoints import (
    QueryCheckpoint,
    default_checkpoint_dir,
    delete_checkpoints,
    local_path,
    read_checkpoint,
)

METADATA = (
    '{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":{"spark.sql.shuffle.partitions":"2"}}'
)


def write_offsets(folder: Path, batch: int, *positions: str, watermark_ms: int = 0) -> None:
    path = folder / "offsets" / str(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["v1", METADATA % (watermark_ms, 1000 * batch), *positions]
    path.write_text("\n".join(lines))


def write_commit(folder: Path, batch: int) -> None:
    path = folder / "commits" / str(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_query_that_never_ran_has_an_empty_checkpoint(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path / "nowhere") == QueryCheckpoint()


def test_the_last_commit_says_what_is_done(tmp_path: Path) -> None:
    for batch in (0, 1, 2):
        write_offsets(tmp_path, batch, f'{{"clicks":{{"0":{batch + 1}}}}}', watermark_ms=5)
        write_commit(tmp_path, batch)
    clicks = TopicPartition("clicks", 0)
    assert read_checkpoint(tmp_path) == QueryCheckpoint(2, None, 2000, 5, {clicks: 3})


def test_a_batch_that_was_begun_is_not_done(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, '{"clicks":{"0":1}}')
    write_commit(tmp_path, 0)
    write_offsets(tmp_path, 1, '{"clicks":{"0":9}}')
    checkpoint = read_checkpoint(tmp_path)
    assert (checkpoint.committed_batch, checkpoint.open_batch) == (0, 1)
    assert checkpoint.offsets == {TopicPartition("clicks", 0): 1}
    write_offsets(tmp_path / "other", 0, '{"clicks":{"0":1}}')
    assert read_checkpoint(tmp_path / "other").offsets == {}


def test_several_sources_are_read_and_strange_ones_passed_by(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, '{"a":{"0":1}}', "-", '{"logOffset":4}', '{"b":{"1":2}}')
    write_commit(tmp_path, 0)
    assert read_checkpoint(tmp_path).offsets == {
        TopicPartition("a", 0): 1,
        TopicPartition("b", 1): 2,
    }


def test_files_in_the_making_are_not_looked_at(tmp_path: Path) -> None:
    write_offsets(tmp_path, 0, '{"a":{"0":1}}')
    (tmp_path / "offsets" / ".1.0c6d.tmp").write_text("v1")
    (tmp_path / "offsets" / ".0.crc").write_text("x")
    assert read_checkpoint(tmp_path).open_batch == 0


@pytest.mark.parametrize("text", ["", "v1", "hello", "v1\nhello", "v1\n{}\n{"])
def test_a_file_that_is_none_of_sparks_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(text)
    (tmp_path / "commits").mkdir()
    with pytest.raises(PipelineError, match=r"offsets/0 is not .*moldau stream reset"):
        read_checkpoint(tmp_path)


def test_checkpoints_outlive_a_reboot_and_keep_out_of_the_brokers_directory() -> None:
    assert str(default_checkpoint_dir({"HOME": "/home/jan"})) == (
        "/home/jan/.local/share/moldau-streams"
    )
    assert str(default_checkpoint_dir({"XDG_DATA_HOME": "/data"})) == "/data/moldau-streams"


def test_only_what_is_on_this_machine_can_be_looked_at() -> None:
    assert local_path("checkpoints/a") == Path.cwd() / "checkpoints/a"
    assert local_path("/data/a:b") == Path("/data/a:b")
    assert local_path("file:///data/a") == Path("/data/a")
    assert local_path("file:/data/a") == Path("/data/a")
    assert local_path("hdfs://name/x") is None


def test_what_is_deleted_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    write_offsets(folder / "query", 0)
    delete_checkpoints(folder)
    assert not folder.exists()
    delete_checkpoints(folder)
