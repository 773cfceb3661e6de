"""Spark's own Kafka connector, for the sessions of these tests.

A JVM takes jars when it starts, and a process keeps its JVM from session to session. So every
session has the connector, whichever module is the first of its process.
"""

import os
from pathlib import Path

from tools.brokers import PROJECT


def connector_jars() -> list[Path]:
    """The jars that tools/install-spark-connector has put there, if any."""
    folder = os.environ.get("SPARK_CONNECTOR_DIR") or PROJECT / ".cache" / "spark-connector"
    return sorted(Path(folder, "jars").glob("*.jar"))


def with_connector() -> dict[str, str]:
    """Settings for a session that may be the first of its process."""
    jars = connector_jars()
    return {"spark.jars": ",".join(map(str, jars))} if jars else {}
