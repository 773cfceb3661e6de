"""Sessions of Spark: one process has one Spark context, and a session for each user of it.

Temporary views and settings belong to a session, so that two users do not see each other's.
"""

from typing import TYPE_CHECKING, Any

from moldau.spark.session import register, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def first_session() -> "SparkSession":
    """Start Spark, for queries that should answer soon.

    Raises:
        PipelineError: PySpark or Java is missing.
    """
    return session(
        "moldau sql",
        config={
            # Several users share the process: one long query must not hold up the others.
            "spark.scheduler.mode": "FAIR",
            "spark.sql.streaming.stopTimeout": "5s",
        },
    )


def new_session(spark: "SparkSession") -> "SparkSession":
    """A session with its own views, active in this thread, with ``format("moldau")``."""
    fresh = spark.newSession()
    activate(fresh)
    register(fresh)
    return fresh


def activate(spark: "SparkSession") -> None:
    """Make a session the one in which Spark looks up formats in this thread."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
