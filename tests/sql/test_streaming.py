"""A stream that cannot start leaves nothing behind, and shows nothing."""

import tempfile
import threading
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from pyspark.errors import AnalysisException
from pyspark.sql.types import LongType, StructField, StructType

from moldau.sql.results import Form
from moldau.sql.streaming import StreamRun
from tests.sql.test_protocol import Kept


class Refused:
    """A DataFrame of a query that Spark does not run as a stream."""

    schema = StructType([StructField("total", LongType())])

    @property
    def writeStream(self) -> object:  # noqa: N802
        raise AnalysisException("no output mode supports it")


def test_a_stream_that_spark_refuses_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = StreamRun(Refused(), Form.JSON, Kept(), None)  # type: ignore[arg-type]
    with pytest.raises(AnalysisException):
        run.run(threading.Event())
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_spark_refuses_shows_no_columns() -> None:
    sink = Kept()
    with pytest.raises(AnalysisException):
        StreamRun(Refused(), Form.CSV, sink, None).run(threading.Event())  # type: ignore[arg-type]
    assert sink.all == []
