"""The settings of a worker's Spark session."""

from moldau.connect.engine.session import session_settings

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def test_the_heap_starts_small_and_the_users_java_options_come_after_that() -> None:
    assert session_settings({}, is_new=True)[JAVA_OPTIONS] == "-Xms64m"
    given = {"moldau.spark.driver.extraJavaOptions": "-Xms1g -Dx=y", "group.id": "g"}
    assert session_settings(given, is_new=True)[JAVA_OPTIONS] == "-Xms64m -Xms1g -Dx=y"


def test_a_session_that_runs_already_is_asked_for_no_other_java() -> None:
    assert JAVA_OPTIONS not in session_settings({}, is_new=False)


def test_properties_of_the_worker_override_settings_of_spark() -> None:
    assert session_settings({}, is_new=True)["spark.driver.memory"] == "768m"
    given = {"moldau.spark.driver.memory": "2g"}
    assert session_settings(given, is_new=True)["spark.driver.memory"] == "2g"
