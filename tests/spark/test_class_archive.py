"""When an archive of Spark's classes is used, which one, and when it is created."""

import os
import subprocess
from pathlib import Path

import pytest

from moldau.spark.class_archive import (
    SWITCH,
    ClassArchive,
    announcement,
    archive_of,
    can_archive,
    empty_conf_dir,
    first_options,
    fits,
    log_options,
    may_create,
    quoted,
    remove_unused,
)
from moldau.spark.java import Java, find_java, wheel_home

DAY_S = 24 * 3600


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "core.jar").write_bytes(b"1")
    return tmp_path / "spark"


@pytest.fixture
def java(tmp_path: Path) -> Java:
    (tmp_path / "jdk" / "lib" / "server").mkdir(parents=True)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.15"\n')
    (tmp_path / "jdk" / "lib" / "server" / "classes.jsa").touch()
    return Java(tmp_path / "jdk", 17)


@pytest.fixture
def archive(tmp_path: Path, java: Java, spark_home: Path) -> ClassArchive:
    found = archive_of(java, spark_home, {"HOME": str(tmp_path)})
    found.path.parent.mkdir(parents=True)
    return found


def complete(archive: ClassArchive) -> None:
    """As if it had been made."""
    archive.path.write_bytes(b"classes")
    archive.claim.write_text("7")


def test_another_java_or_spark_is_another_archive(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    home = {"HOME": str(tmp_path)}
    first = archive_of(java, spark_home, home)
    assert archive_of(java, spark_home, home) == first
    (java.home / "release").write_text('JAVA_VERSION="17.0.16"\n')
    second = archive_of(java, spark_home, home)
    os.utime(spark_home / "jars" / "core.jar", (1, 1))
    third = archive_of(java, spark_home, home)
    (spark_home / "jars" / "more.jar").touch()
    fourth = archive_of(java, spark_home, home)
    assert len({each.path for each in (first, second, third, fourth)}) == 4


def test_it_is_made_if_it_is_not_there_and_tried_again_after_a_day(archive: ClassArchive) -> None:
    assert archive.is_due(now_s=0)
    archive.claim.touch()
    tried_s = archive.claim.stat().st_mtime
    assert not archive.is_due(tried_s + DAY_S - 1)
    assert archive.is_due(tried_s + DAY_S + 1)
    complete(archive)
    assert not archive.is_due(tried_s + DAY_S + 1)


def test_java_is_told_of_an_archive_only_if_it_is_there(archive: ClassArchive) -> None:
    assert archive.use_options() == []
    complete(archive)
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.use_options()
    assert not any("aot" in each for each in archive.use_options()), "Java 17 knows no such word"


def test_an_archive_that_was_cut_off_does_not_count(archive: ClassArchive) -> None:
    complete(archive)
    archive.path.write_bytes(b"clas")
    assert archive.use_options() == []
    assert archive.is_due(archive.claim.stat().st_mtime + DAY_S + 1)


def test_a_java_without_an_archive_of_its_own_gets_one_first(
    archive: ClassArchive, tmp_path: Path
) -> None:
    draft = tmp_path / "draft"
    assert archive.base is None
    (archive.java.home / "lib" / "server" / "classes.jsa").unlink()
    assert archive.base is not None
    complete(archive)
    assert not archive.is_whole()
    archive.base.touch()
    assert archive.is_whole()
    assert f"-XX:SharedArchiveFile={archive.base}" in archive.make_options(draft)


@pytest.mark.parametrize(
    "variables, master",
    [
        ({SWITCH: "off"}, "local"),
        ({"HADOOP_CONF_DIR": "/etc/hadoop"}, "local[2]"),
        ({"SPARK_CONF_DIR": "/etc/spark"}, "local[*]"),
        ({}, "spark://head:7077"),
        ({}, "yarn"),
    ],
)
def test_a_class_path_that_is_not_ours_is_not_archived(
    variables: dict[str, str], master: str
) -> None:
    home = {"HOME": "/home/jan"}
    ours = {**home, "SPARK_CONF_DIR": str(empty_conf_dir(home))}
    assert can_archive(home, "local[*]")
    assert can_archive(ours, "local[*]")
    assert not can_archive({**home, **variables}, master)


def test_an_archive_can_be_used_without_creating_one() -> None:
    existing = {"HOME": "/home/jan", SWITCH: "existing"}
    assert can_archive(existing, "local[*]")
    assert not may_create(existing)
    assert may_create({"HOME": "/home/jan"})


def test_a_user_with_an_archive_or_a_class_path_of_their_own_keeps_it() -> None:
    assert fits({}, "-Xmx2g -Dsome.thing=1")
    assert not fits({}, "-Xmx2g -XX:SharedArchiveFile=/mine.jsa")
    assert not fits({}, "-Xshare:off")
    assert not fits({"spark.driver.extraClassPath": "/mine.jar"}, "")


def test_classes_are_taken_unchecked_only_where_all_of_them_are_sparks_own() -> None:
    assert "-XX:-BytecodeVerificationRemote" in first_options({"spark.master": "local"})
    assert first_options({"spark.jars": "mine.jar"}) == []
    assert first_options({"spark.jars.packages": "org.mine:mine:1"}) == []


def test_this_java_knows_the_options_of_a_first_session() -> None:
    java = find_java(os.environ, wheel_home()).home / "bin" / "java"
    started = subprocess.run(
        [java, *first_options({}), "-version"], capture_output=True, check=False, text=True
    )
    assert started.returncode == 0, started.stderr
    assert "warning" not in (started.stdout + started.stderr).lower()


def test_the_log_is_set_as_before_unless_the_user_sets_it(tmp_path: Path) -> None:
    where = tmp_path / "a b" / "log4j2.properties"
    assert log_options(where, "") == [f"-Dlog4j2.configurationFile={where.as_uri()}"]
    assert log_options(where, "-Dlog4j2.configurationFile=mine.xml") == []


def test_an_option_with_a_space_stays_one() -> None:
    assert quoted(["-Xa", "-Xb=/a b"]) == '-Xa "-Xb=/a b"'


def test_the_user_is_told_in_one_line_where_the_archive_is_kept_and_how_to_do_without(
    archive: ClassArchive, tmp_path: Path
) -> None:
    told = announcement({"HOME": str(tmp_path)})
    assert "\n" not in told
    assert str(archive.path.parent) in told
    assert f"{SWITCH}=off" in told


def test_archives_that_nobody_uses_make_room(archive: ClassArchive) -> None:
    archive.path.touch()
    used_s = archive.path.stat().st_mtime
    remove_unused(archive.path.parent, used_s + 29 * DAY_S)
    assert archive.path.exists()
    remove_unused(archive.path.parent, used_s + 31 * DAY_S)
    assert not archive.path.exists()
