"""The output of a program that ends with an error of Spark."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from moldau.spark.uncaught import uncaught_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
import sys
import moldau.spark

spark = moldau.spark.session(master="local[2]")
rows = spark.range(4).selectExpr("cast(null as string) topic", "cast(id as string) value")
to_topics = rows.write.format("moldau").option("kafka.bootstrap.servers", sys.argv[1])
to_topics.mode("append").save()
"""


def test_only_the_own_program_and_one_line_are_shown() -> None:
    with pytest.raises(PySparkException) as raised:
        StructType().add("without a type")
    text = uncaught_text(raised.value, raised.tb)
    assert text is not None
    assert 'StructType().add("without a type")' in text
    assert "types.py" not in text
    assert "\nmoldau.spark.errors.PipelineError: " in text
    assert "is required when passing name of struct_field to create.\n" in text


def test_other_errors_are_left_to_python() -> None:
    assert uncaught_text(ValueError("mine"), None) is None


def test_a_sink_that_fails_in_every_task_leaves_four_lines(
    spark: "SparkSession", bootstrap: str
) -> None:
    failed = subprocess.run(
        [sys.executable, "-c", PROGRAM, bootstrap], capture_output=True, text=True, timeout=600
    )
    assert failed.returncode == 1
    assert failed.stderr.splitlines() == [
        "Traceback (most recent call last):",
        '  File "<string>", line 8, in <module>',
        "moldau.spark.errors.PipelineError: a row has no topic (null): set option topic, or give "
        "every row one",
        "(moldau.spark.session(debug=True) shows the traces of Spark)",
    ]
