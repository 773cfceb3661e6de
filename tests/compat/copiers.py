"""Apache Kafka's TransactionalMessageCopier: members of a group that copy in transactions."""

import subprocess
import threading
from pathlib import Path

from tools.brokers import kafka_dir

from tests.compat.java_tools import SHORT_LIVED

KEEP_EVERY_S = 0.5


class Copiers:
    """The running copiers; one that has ended, for whatever reason, is started again."""

    def __init__(
        self,
        count: int,
        bootstrap: str,
        source: str,
        target: str,
        folder: Path,
        transaction_size: int = 5,
    ) -> None:
        self._count = count
        libraries = kafka_dir() / "libs" / "*"
        logging = f"-Dlog4j2.configurationFile={kafka_dir()}/config/tools-log4j2.properties"
        self._command = [
            *("java", *SHORT_LIVED, "-Xmx96M", logging, "-cp", str(libraries)),
            "org.apache.kafka.tools.TransactionalMessageCopier",
            *("--broker-list", bootstrap, "--input-topic", source, "--output-topic", target),
            *("--input-partition", "-1", "--consumer-group", f"copiers-of-{source}"),
            *(
                "--transaction-size",
                str(transaction_size),
                "--enable-random-aborts",
                "--group-mode",
            ),
            *("--use-group-metadata", "--transactional-id"),
        ]
        self._folder = folder
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self.endings: list[int] = []
        self._keeping = threading.Event()
        self._keeper: threading.Thread | None = None

    def keep(self) -> None:
        """Keep all of them running until they are closed."""
        self._keeper = threading.Thread(target=self._keep, name="keeper of copiers", daemon=True)
        self._keeper.start()

    def start(self) -> None:
        """Start those that do not run."""
        for number in range(self._count):
            process = self._running.get(number)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                self.endings.append(process.returncode)
            with (self._folder / f"copier-{number}.log").open("ab") as log:
                self._running[number] = subprocess.Popen(
                    [*self._command, f"copier-{number}"], stdout=log, stderr=log
                )

    def kill(self, number: int) -> None:
        self._running[number].kill()
        self._running[number].wait()

    def close(self) -> None:
        if self._keeper is not None:
            self._keeping.set()
            self._keeper.join()
        for process in self._running.values():
            process.kill()
            process.wait()

    def _keep(self) -> None:
        self.start()
        while not self._keeping.wait(KEEP_EVERY_S):
            self.start()

    def said(self) -> str:
        """The last words of each."""
        logs = sorted(self._folder.glob("copier-*.log"))
        tails = [log.read_text(errors="replace").splitlines()[-8:] for log in logs]
        return "\n".join("\n".join(tail) for tail in tails)
