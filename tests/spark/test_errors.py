"""The one line that matters is extracted from long stack traces."""

import pytest

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import BrokersAway, PipelineError, is_outage, one_line, pipeline_errors

PLANNED = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: \
moldau.spark.errors.PipelineError: topic nope does not exist
 SQLSTATE: 38000"""

STREAMED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due \
to stage failure: Task 0 in stage 3.0 failed 1 times: org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
  File "reading.py", line 9, in read_task
    raise PipelineError(message)
moldau.spark.errors.PipelineError: orders-0 has no offset 3: it begins at 7 and ends at 9

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:581)
Driver stacktrace: SQLSTATE: XXKST"""

USERS = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "app.py", line 3, in shout
    return value.upper() + 1
TypeError: can only concatenate str (not "int") to str
"""

# A query's plan comes with its failure, and may hold texts of other errors that did not happen.
WITH_PLAN = """Job aborted: PipelineError: orders-0 has a poison record at offset 3
=== Streaming Query ===
Identifier: orders [id = 1, runId = 2]
+- ~Project [raise_error(concat(PipelineError: , topic#2, has a poison record))]
"""

HIDDEN = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: ValueError: no number
SQLSTATE: 38000
=== Streaming Query ===
"""

CRASHED = """An error occurred while calling o65.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 24.0 failed 1 \
times, most recent failure: Lost task 0.0 in stage 24.0 (TID 25) (localhost executor driver): \
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:610)
"""

SPARKS = """[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found. SQLSTATE: 42P01;
'UnresolvedRelation [x], [], false
"""

# What the bridge to Java has to say, and behind it what Java has.
JAVAS = """An error occurred while calling o75.start.
: java.io.IOException: Mkdirs failed to create file:/proc/nope (exists=false, cwd=file:/home)
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:517)
Caused by: java.io.IOException: something deeper
"""

SOURCES = """[STREAM_FAILED] Query shop [id = 1, runId = 2] terminated with exception: assertion \
failed: There are [1] sources in the checkpoint offsets and now there are [2] sources requested by \
the query. Cannot continue. SQLSTATE: XXKST
=== Streaming Query ===
"""


@pytest.mark.parametrize(
    "text, line",
    [
        (PLANNED, "topic nope does not exist"),
        (STREAMED, "orders-0 has no offset 3: it begins at 7 and ends at 9"),
        (WITH_PLAN, "orders-0 has a poison record at offset 3"),
        (HIDDEN, "ValueError: no number"),
        (USERS, 'TypeError: can only concatenate str (not "int") to str'),
        (CRASHED, "Python worker exited unexpectedly (crashed)."),
        (SPARKS, "The table or view `x` cannot be found."),
        (JAVAS, "Mkdirs failed to create file:/proc/nope (exists=false, cwd=file:/home)"),
        (
            SOURCES,
            "There are [1] sources in the checkpoint offsets and now there are [2] sources "
            "requested by the query. Cannot continue. The query reads more or fewer streams than "
            "when its checkpoint was written: undo that, or give it a new checkpoint",
        ),
        ("\nsomething else\nand more", "something else"),
        ("", "Exception"),
    ],
)
def test_the_line_that_matters_is_found(text: str, line: str) -> None:
    assert one_line(Exception(text)) == line


def test_what_the_client_says_is_the_users_error() -> None:
    with pytest.raises(PipelineError, match="topic x does not exist"), pipeline_errors():
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic x does not exist")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionFailed("cannot connect to localhost:9092: Connection refused"),
        ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "orders-0 has no leader"),
    ],
)
def test_brokers_that_are_away_are_told_from_what_is_wrong(error: Exception) -> None:
    with pytest.raises(BrokersAway) as raised, pipeline_errors():
        raise error
    assert str(raised.value) == str(error)
    assert is_outage(raised.value)
    # Spark makes a text of it.
    text = STREAMED.replace("PipelineError: orders", "BrokersAway: orders")
    assert is_outage(Exception(text))
    assert one_line(Exception(text)) == one_line(Exception(STREAMED))
    assert not is_outage(Exception(STREAMED))
    assert not is_outage(PipelineError("BrokersAway: not this"))
