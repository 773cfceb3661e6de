"""Runs kafka-replica-verification, which reads every replica and compares what it gets."""

import subprocess
import threading

from tools.brokers import kafka_dir
from tools.clusters import Cluster

LIMIT_S = 180.0


def check_replicas(cluster: Cluster, topic: str) -> None:
    """All replicas of a topic have the same batches, up to its end."""
    lines = _reports(cluster, topic)
    assert not [line for line in lines if f": partition {topic}-" in line], lines
    assert f"max lag is 0 for partition {topic}-" in lines[-1], lines


def _reports(cluster: Cluster, topic: str) -> list[str]:
    """What the tool says until nothing is left to compare; it would go on until it is stopped."""
    tool = str(kafka_dir() / "bin" / "kafka-replica-verification")
    options = ["--topics-include", topic, "--time", "-2", "--report-interval-ms", "500"]
    process = subprocess.Popen(
        [tool, "--broker-list", cluster.bootstrap, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(LIMIT_S, process.kill)
    watchdog.start()
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if f"max lag is 0 for partition {topic}-" in line and " at offset 0 " not in line:
                break
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
    return lines
