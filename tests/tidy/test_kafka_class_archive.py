"""Which options the JVMs of tests get for the archive of Apache Kafka's classes."""

from pathlib import Path

from tools.kafka_class_archive import NAME, options


def test_an_archive_is_used_only_if_it_is_there(tmp_path: Path) -> None:
    assert options(tmp_path) == ["-Xshare:auto"]
    (tmp_path / f"{NAME}.draft").touch()
    assert options(tmp_path) == ["-Xshare:auto"]
    (tmp_path / NAME).touch()
    assert f"-XX:SharedArchiveFile={tmp_path / NAME}" in options(tmp_path)
