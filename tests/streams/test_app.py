"""An app before it runs: its name, its queries, its description."""

import subprocess
import sys
from pathlib import Path

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams import LONG, STRING, App
from moldau.streams.checkpoints import default_checkpoint_dir

WITHOUT_SPARK = """
import sys
from moldau.streams import STRING, App, tumbling

app = App("windows")
clicks = app.stream("clicks").filter(lambda value: value != "")
clicks.group_by_key().windowed_by(tumbling("1 minute", grace="5 seconds")).count().to("counts")
print(app.describe())
app.describe(dot=True)
assert "pyspark" not in sys.modules, "describing an app imported Spark"
assert "pyarrow" not in sys.modules, "describing an app imported Arrow"
"""


def test_a_name_is_part_of_topics_and_directories() -> None:
    assert App("shop-2.eu_1").name == "shop-2.eu_1"
    for name in ("", "my shop", "a/b"):
        with pytest.raises(PipelineError, match="an app cannot be called"):
            App(name)


def test_checkpoints_are_in_a_directory_of_the_app(tmp_path: Path) -> None:
    assert App("shop", checkpoint_dir=tmp_path).local_folder() == tmp_path / "shop"
    import os

    assert App("shop").local_folder() == default_checkpoint_dir(os.environ) / "shop"
    with pytest.raises(PipelineError, match="hdfs://name/x is not on this machine"):
        App("shop", checkpoint_dir="hdfs://name/x").local_folder()


def test_an_unknown_delivery_is_refused() -> None:
    with pytest.raises(PipelineError, match="delivery='twice': at_least_once or exactly_once is"):
        App("shop", delivery="twice")


def test_security_settings_hold_for_all_that_an_app_does() -> None:
    app = App(
        "shop",
        security={"security.protocol": "SSL", "ssl.truststore.location": "trusted.pem"},
        source_options={"failOnDataLoss": "false"},
        sink_options={"kafka.linger.ms": "5"},
    )
    secured = {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "trusted.pem"}
    assert app.reading_options() == {**secured, "failOnDataLoss": "false"}
    assert app.writing_options() == {**secured, "kafka.linger.ms": "5"}
    with app.admin() as admin:
        assert admin.cluster.security.protocol == "SSL"


def test_wrong_security_settings_are_told_with_the_app() -> None:
    with pytest.raises(PipelineError, match=r"of shop: security.protocol=TLS: must be one of"):
        App("shop", security={"security.protocol": "TLS"}).status()


def test_an_app_that_writes_nothing_has_nothing_to_run() -> None:
    app = App("shop")
    app.stream("orders")
    with pytest.raises(PipelineError, match="shop writes nothing"):
        app.run()


def test_an_app_describes_itself_without_spark() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK], capture_output=True, text=True, check=False
    )
    assert shown.stderr == ""
    assert "app windows: 1 query" in shown.stdout
    assert "query to-counts: clicks → counts" in shown.stdout
    assert "tumbling 1 minute, grace 5 seconds, keeps state" in shown.stdout


def test_an_app_without_a_broker_says_so_before_spark_starts(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    app = App("shop", bootstrap=f"127.0.0.1:{port}", checkpoint_dir=tmp_path)
    app.stream("orders", key=STRING, value=LONG).to("copies")
    with pytest.raises(PipelineError, match=f"cannot connect to 127.0.0.1:{port}"):
        app.run()
