"""Run the attacks one after the other, with the probe beside each, and print a table."""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from tools.brokers import HOST, ApacheKafkaBroker, Broker, MoldauBroker, free_port

from benchmarks.stalls import cluster_attacks, transaction_attacks
from benchmarks.stalls.attacks import ATTACKS, Salvo, add_record_attacks
from benchmarks.stalls.process import Process
from benchmarks.stalls.wire import Wire

# Importing these modules has registered their attacks.
REGISTERED = (cluster_attacks, transaction_attacks)
NAME_WIDTH = 56
HEADINGS = (
    "worst ms",
    "its cpu",
    "most cpu",
    "loop cpu",
    "p99 ms",
    "asked",
    "took s",
    "cpu s",
    "MB more",
    "MB sent",
)


class Target(NamedTuple):
    """The broker under attack, with a listener for other nodes."""

    broker: Broker
    controller_port: int


def new_target(directory: Path, *, is_kafka: bool) -> Target:
    if is_kafka:
        kafka = ApacheKafkaBroker(directory)
        return Target(kafka, kafka.controller_port)
    port, controller_port = free_port(), free_port()
    controller = f"{HOST}:{controller_port}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{controller}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": controller,
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    return Target(MoldauBroker(directory, settings, port), controller_port)


class ProbeProcess:
    """The probe, in a separate process, so that the attacker does not delay it."""

    def __init__(self, broker: Broker) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.stalls.probe", str(broker.port), str(broker.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, word: str) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Shot:
    """One salvo being sent by its own thread."""

    def __init__(self, port: int, salvo: Salvo) -> None:
        self.failure: str | None = None
        self.received_bytes = 0
        self._port = port
        self._salvo = salvo
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            with Wire(self._port) as wire:
                sending = threading.Thread(target=self._send, args=(wire,))
                sending.start()
                for _ in range(self._salvo.answers):
                    self.received_bytes += wire.skip_frame()
                sending.join()
        except OSError as error:
            self.failure = str(error)

    def _send(self, wire: Wire) -> None:
        try:
            wire.socket.sendall(self._salvo.data)
        except OSError as error:
            self.failure = str(error)


def run_attack(target: Target, probe: ProbeProcess, name: str) -> dict[str, Any]:
    broker = target.broker
    with Wire(broker.port, target.controller_port) as wire:
        salvos = ATTACKS[name](wire)
    # The remaining work of the preparation (creating logs, flushing) is not part of the attack.
    time.sleep(1)
    process = Process(broker.pid)
    process.forget_peak()
    rss_mb, cpu_s, begin = process.rss_mb(), process.cpu_s(), time.perf_counter()
    probe.say("begin")
    ports = {False: broker.port, True: target.controller_port}
    shots = [Shot(ports[salvo.is_for_controller], salvo) for salvo in salvos]
    for shot in shots:
        shot.wait()
    took_s = time.perf_counter() - begin
    seen: dict[str, Any] = dict(probe.say("end"))
    failures = sorted({shot.failure for shot in shots if shot.failure})
    seen.update(
        name=name,
        took_s=took_s,
        cpu_s=process.cpu_s() - cpu_s,
        rss_mb=process.peak_rss_mb() - rss_mb,
        sent_mb=sum(len(salvo.data) for salvo in salvos) / 1e6,
        failure=", ".join(failures),
    )
    return seen


def line(seen: dict[str, Any]) -> str:
    figures = (
        f"{seen['worst_ms']:.1f}",
        f"{seen['worst_cpu_ms']:.1f}",
        f"{seen['most_cpu_ms']:.1f}",
        f"{seen['most_loop_cpu_ms']:.1f}",
        f"{seen['p99_ms']:.1f}",
        f"{seen['answers']}",
        f"{seen['took_s']:.2f}",
        f"{seen['cpu_s']:.2f}",
        f"{seen['rss_mb']:.0f}",
        f"{seen['sent_mb']:.2f}",
    )
    text = f"{seen['name']:<{NAME_WIDTH}}" + "".join(f"{figure:>10}" for figure in figures)
    return f"{text}  {seen['failure']}".rstrip()


def run_all(target: Target, names: list[str]) -> list[dict[str, Any]]:
    rows = []
    with target.broker as broker:
        probe = ProbeProcess(broker)
        try:
            for name in names:
                rows.append(run_attack(target, probe, name))
                print(line(rows[-1]), flush=True)
        finally:
            probe.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stalls", description=__doc__)
    parser.add_argument("words", nargs="*", help="only attacks whose name contains one of these")
    parser.add_argument("--bound-ms", type=float, help="fail if a wait was longer")
    parser.add_argument("--bound-mb", type=float, help="fail if memory grew by more")
    parser.add_argument("--kafka", action="store_true", help="attack Apache Kafka (KAFKA_DIR)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    add_record_attacks()
    words = [word.lower() for word in options.words]
    names = [name for name in ATTACKS if not words or any(word in name.lower() for word in words)]
    print(f"{'attack':<{NAME_WIDTH}}" + "".join(f"{each:>10}" for each in HEADINGS), flush=True)
    with tempfile.TemporaryDirectory(prefix="stalls-") as folder:
        target = new_target(Path(folder) / "data", is_kafka=options.kafka)
        rows = run_all(target, names)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    too_long = options.bound_ms and any(row["worst_ms"] > options.bound_ms for row in rows)
    too_large = options.bound_mb and any(row["rss_mb"] > options.bound_mb for row in rows)
    return 1 if too_long or too_large else 0


if __name__ == "__main__":
    sys.exit(main())
