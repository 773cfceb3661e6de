"""Errors of Spark that say nothing by themselves."""

import json
import re
import zipfile
from pathlib import Path

import pyspark
import pytest

from moldau.sql.diagnosis import _EXPLAINED, Context, diagnose
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


def parameters_of_spark() -> dict[str, set[str]]:
    """The parameters of each condition, as Spark's own list of them has it."""
    [jar] = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    conditions = json.loads(zipfile.ZipFile(jar).read("error/error-conditions.json"))
    found = {}
    for name, condition in conditions.items():
        for part, more in (condition.get("subClass") or {"": {"message": []}}).items():
            text = "\n".join(condition["message"] + more["message"])
            found[f"{name}.{part}".rstrip(".")] = set(re.findall(r"<(\w+)>", text))
    return found


@pytest.mark.parametrize("condition", _EXPLAINED)
def test_an_explanation_reads_only_what_spark_tells(condition: str) -> None:
    known = parameters_of_spark()
    names = [each for each in known if each == condition or each.startswith(f"{condition}.")]
    assert names
    statement = "SELECT a FROM b GROUP BY c"
    for name in names:
        given = dict.fromkeys(known[name], "`a`")
        _EXPLAINED[condition](given, None, Context(Rewritten(statement, statement)))
