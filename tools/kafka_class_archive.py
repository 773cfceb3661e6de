"""Archives the classes of Apache Kafka for the JVMs of tests.

The compatibility tests start hundreds of JVMs that run for seconds, and loading and verifying
classes is a third of what these do. Java can map an archive of loaded classes instead (class data
sharing). The archive has the classes that a broker and some of the tools load here, and is part of
Kafka's folder. A JVM whose class path begins with Kafka's jars may use it; it checks them itself.
"""

import itertools
import os
import subprocess
import tempfile
from pathlib import Path

from tools.brokers import ApacheKafkaBroker, kafka_dir

NAME = "classes.jsa"
# What a JVM that runs for seconds needs: compile little, collect garbage on one thread.
SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
OPTIONS = "KAFKA_JVM_PERFORMANCE_OPTS"
TOPIC = "numbers"
GROUP = "readers"


def options(home: Path) -> list[str]:
    """The JVM options that use the archive in Kafka's folder; without one, Java's own."""
    archive = home / NAME
    if not archive.exists():
        return ["-Xshare:auto"]
    # No warnings if it does not match, for instance because Java is another one.
    return ["-Xshare:auto", "-Xlog:cds*=off", f"-XX:SharedArchiveFile={archive}"]


def make(home: Path) -> None:
    """Replace the archive by a new one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        note = f"-XX:DumpLoadedClassList={folder}/%p.classes"
        os.environ[OPTIONS] = " ".join((*SHORT_LIVED, note))
        with ApacheKafkaBroker(folder / "data") as broker:
            _use(home, broker.bootstrap)
            broker.stop()
        lists = [path.read_text().splitlines() for path in folder.glob("*.classes")]
        classes = folder / "all"
        classes.write_text("".join(f"{line}\n" for line in sorted({*itertools.chain(*lists)})))
        draft = home / f"{NAME}.draft"
        os.environ[OPTIONS] = " ".join(SHORT_LIVED)
        dump = ["-Xlog:disable", "-Xshare:dump", f"-XX:SharedClassListFile={classes}"]
        _run(home, "kafka-run", *dump, f"-XX:SharedArchiveFile={draft}")
        # Only whole archives have the name: a JVM that maps another one crashes.
        draft.replace(home / NAME)


def _use(home: Path, bootstrap: str) -> None:
    """Run tools that load what most of the tools and clients load."""
    server = ("--bootstrap-server", bootstrap)
    topic = ("--topic", TOPIC)
    _run(home, "kafka-topics", *server, "--create", *topic)
    _run(home, "kafka-verifiable-producer", *server, *topic, "--max-messages", "100")
    consumed = ("--group", GROUP, "--from-beginning", "--max-messages", "100")
    _run(home, "kafka-console-consumer", *server, *topic, *consumed)
    _run(home, "kafka-consumer-groups", *server, "--describe", "--group", GROUP)
    _run(home, "kafka-configs", *server, "--describe", *topic)


def _run(home: Path, command: str, *arguments: str) -> None:
    done = subprocess.run(
        [home / "bin" / command, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    make(kafka_dir())
