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
            # Where in our own code a column was made explains nothing to the user, and telling
            # Java takes several calls for each of them.
            "spark.python.sql.dataFrameDebugging.enabled": "false",
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
    from pyspark.sql import SparkSession

    jvm: Any = spark._jvm
    # As `jvm.org.apache...`, but the whole name at once: Java looks for a class of each part of a
    # name in all jars.
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(spark._jsparkSession)
