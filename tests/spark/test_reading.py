"""Tasks wait for brokers that are unavailable."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from moldau.client.connection import ConnectionFailed
from moldau.spark.client_options import ClientOptions
from moldau.spark.reading import cluster_in_task
from tests.running import RunningBroker


def test_a_task_that_starts_while_brokers_are_away_waits_for_them(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody, ThreadPoolExecutor(1) as pool:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        met = pool.submit(cluster_in_task, ClientOptions(address, timeout_s=60))
        nobody.accept()[0].close()
        nobody.close()
        settings = {
            "listeners": f"PLAINTEXT://{address},CONTROLLER://127.0.0.1:0",
            "advertised.listeners": f"PLAINTEXT://{address}",
        }
        with RunningBroker(tmp_path / "data", settings), closing(met.result()) as cluster:
            assert len(cluster.brokers) == 1


def test_a_task_does_not_wait_for_ever() -> None:
    # Bound but not listening: nobody else gets the port, and whoever connects is refused.
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(ConnectionFailed, match="Connection refused"):
            cluster_in_task(ClientOptions(address, timeout_s=0.2))
