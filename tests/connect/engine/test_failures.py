"""Whose fault the end of a query is: FAILED for the connector's, started again for the others."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, StreamingQueryException

from moldau.client.connection import ConnectionFailed
from moldau.connect.data.errors import DataError
from moldau.connect.engine.failures import Stopping, TaskFailed, is_broken_talk, own_failure
from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import BrokersAway


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TaskFailed("trace of the task\nline two"), "line two"),
        (DataError("the value is no number"), "the value is no number"),
        (ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "orders"), "orders"),
        # What the connector asks of Spark is as wrong the next time.
        (AnalysisException("there is no column amont"), "no column amont"),
    ],
)
def test_the_connector_has_failed(error: Exception, words: str) -> None:
    trace = own_failure(error)
    assert trace is not None
    assert words in trace


@pytest.mark.parametrize(
    "error",
    [
        Stopping("it is being stopped"),
        BrokersAway("nobody answers"),
        ConnectionFailed("refused"),
        ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "orders-0"),
        StreamingQueryException("the process of the reader has died"),
    ],
)
def test_it_is_started_again(error: Exception) -> None:
    assert own_failure(error) is None


def test_a_remedy_of_spark_becomes_one_of_connect() -> None:
    """Connectors have no such option as failOnDataLoss."""
    said = "records of t-0 may be lost: it is gone. With failOnDataLoss=false the query continues"
    trace = own_failure(TaskFailed(f"{said} with the rest\n\tat somewhere"))
    assert trace is not None
    assert trace.startswith("records of t-0 may be lost: it is gone. No record is skipped")
    assert trace.endswith("\n\tat somewhere")
    assert "failOnDataLoss" not in trace


def unbound_because_of(cause: Exception) -> Exception:
    """As PySpark does it: a variable is unbound, because the call before has failed."""
    error = UnboundLocalError("cannot access local variable 'sockfile'")
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("the answer is empty"),
        ConnectionResetError("reset"),
        EOFError("no more"),
        unbound_because_of(Py4JError("An error occurred while calling None.None")),
    ],
)
def test_the_talk_with_the_jvm_broke_off(error: Exception) -> None:
    assert is_broken_talk(error)


@pytest.mark.parametrize(
    "error",
    [
        UnboundLocalError("in the connector"),
        DataError("the value is no number"),
        StreamingQueryException("the process of the reader has died"),
    ],
)
def test_other_errors_are_not_the_end_of_the_jvm(error: Exception) -> None:
    assert not is_broken_talk(error)
