"""What the short-lived process imports in which Spark asks for the schema of a query."""

import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

ASKING = """
import sys
from moldau.spark.source import MoldauDataSource

source = MoldauDataSource({"columns": "key,value"})
assert source.schema().fieldNames() == ["key", "value"]
print([name for name in ("numpy", "pandas", "pyarrow") if name in sys.modules])
"""


def test_the_schema_of_a_query_needs_no_arrow() -> None:
    """The first query of a session waits for that process; Arrow would be a third of its time."""
    done = subprocess.run([sys.executable, "-c", ASKING], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
