"""Apache Kafka's verifiable producer and consumer: Java clients that say what they were told."""

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from tools.brokers import kafka_dir

from tests.cluster.history import Assigned, Committed, History, Read
from tests.cluster.load import PATIENCE_S

_RETRYING = {
    # The tool does not retry unless it is told to.
    "retries": "2147483647",
    "enable.idempotence": "true",
    "delivery.timeout.ms": str(int(PATIENCE_S * 1000)),
    "reconnect.backoff.max.ms": "500",
    "linger.ms": "2",
}
_QUICK = {"reconnect.backoff.max.ms": "500"}
LOG_CHARACTERS = 6000


class JavaProgram:
    """A tool that prints a JSON object per line, until it is told to end."""

    def __init__(self, name: str, folder: Path, settings: dict[str, str]) -> None:
        self.name = name
        self._command: list[str] = []
        self._log_path = folder / f"{name}.log"
        self._config_path = folder / f"{name}.properties"
        self._config_path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = threading.Thread(target=self._listen, name=name, daemon=True)

    def start(self) -> None:
        tool, *arguments = self._command
        config = ["--command-config", str(self._config_path)]
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [str(kafka_dir() / "bin" / tool), *arguments, *config],
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._reader.start()

    def stop(self) -> None:
        """Have it finish; returns when it has said everything."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} does not end:\n{self.log()}") from None
        self._reader.join()

    def kill(self) -> None:
        """End it whatever it is doing."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        """The end of what it wrote to its log."""
        return self._log_path.read_text(errors="replace")[-LOG_CHARACTERS:]

    def heard(self, event: dict[str, Any]) -> None:
        raise NotImplementedError

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self.heard(json.loads(line))


class VerifiableProducer(JavaProgram):
    """kafka-verifiable-producer with idempotence: ``number.0``, ``number.1``, ..."""

    def __init__(
        self, number: int, bootstrap: str, topic: str, rate: float, log: History, folder: Path
    ) -> None:
        super().__init__(f"java-producer-{number}", folder, _RETRYING)
        self._history = log
        self._command = [
            "kafka-verifiable-producer",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--acks", "-1"),
            *("--throughput", str(int(rate)), "--value-prefix", str(number)),
            # Without keys it stays with a partition for as long as it likes.
            *("--repeating-keys", "16"),
        ]

    def heard(self, event: dict[str, Any]) -> None:
        if event["name"] == "producer_send_success":
            self._history.acknowledged(event["value"], event["partition"], event["offset"])
        elif event["name"] == "producer_send_error":
            self._history.failed(f"{self.name}: {event['value']}: {event['message']}")


class VerifiableConsumer(JavaProgram):
    """kafka-verifiable-consumer: it commits what each poll returned.

    One member for each group: lines of two processes would come here in some other order than
    they were said.
    """

    def __init__(
        self, group: str, protocol: str, bootstrap: str, topic: str, log: History, folder: Path
    ) -> None:
        super().__init__(f"java-consumer-{group}", folder, _QUICK)
        self._history = log
        self._group = group
        session = ["--session-timeout", "6000"] if protocol == "classic" else []
        self._command = [
            "kafka-verifiable-consumer",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group),
            *("--group-protocol", protocol, "--verbose", *session),
        ]

    def heard(self, event: dict[str, Any]) -> None:
        if event["name"] == "record_data":
            place = (event["partition"], event["offset"])
            self._history.of_group(self._group, Read(self.name, *place, event["value"]))
        elif event["name"] == "partitions_assigned":
            for each in event["partitions"]:
                self._history.of_group(self._group, Assigned(self.name, each["partition"]))
        elif event["name"] == "offsets_committed" and event["success"]:
            for each in event["offsets"]:
                self._history.of_group(self._group, Committed(each["partition"], each["offset"]))
