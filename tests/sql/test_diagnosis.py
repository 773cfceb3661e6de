"""Errors of Spark that say nothing by themselves."""

from moldau.sql.diagnosis import Context, diagnose
from moldau.sql.errors import show_error
from moldau.sql.rewriting import Rewritten


def shown(error: Exception, statement: str) -> list[str]:
    found = diagnose(error, Context(Rewritten(statement, statement)))
    return show_error(found, statement).splitlines()


def test_a_stream_that_is_sorted_is_told_apart() -> None:
    said = "Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated;"
    lines = shown(Exception(said), "SELECT * FROM STREAM orders ORDER BY 1")
    assert "leave out STREAM" in lines[0]
    assert lines[2].strip() == "^^^^^^"


def test_a_state_of_sql_and_a_line_are_not_shown() -> None:
    said = "The fraction is too large. SQLSTATE: 42K0E; line 1 pos 27;"
    assert shown(Exception(said), "SELECT 1")[0] == "The fraction is too large."


def test_a_file_of_another_format_is_named() -> None:
    class NoFooterError(Exception):
        def getCondition(self) -> str:  # noqa: N802
            return "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"

        def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
            return {"dataSourceType": "parquet"}

    lines = shown(NoFooterError(), "SELECT * FROM parquet.`/etc/passwd` p")
    assert lines[0].startswith("/etc/passwd is no file of parquet: write its format in front")
    assert lines[2].strip() == "^" * len("`/etc/passwd`")
