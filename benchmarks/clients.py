"""The load generators: librdkafka in C, the Java tools, and a raw socket client.

Each returns the number of records and the seconds, or latencies in milliseconds. The raw client
sends prepared bytes and parses almost nothing of the responses, so that the broker has the
machine to itself.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import crc32c
from tools import wire
from tools.brokers import HOST, kafka_dir

HERE = Path(__file__).resolve().parent
LIMIT_S = 600


class UnavailableError(Exception):
    """Something that a client needs is missing on this machine."""


class Clients:
    """The load generators, built into ``build_dir`` when first used."""

    def __init__(self, build_dir: Path) -> None:
        self._build_dir = build_dir
        self._librdkafka: Path | None = None
        self._java_classes: Path | None = None

    def librdkafka(self, mode: str, *arguments: object) -> dict[str, float]:
        """Run benchmarks/librdkafka_client.c."""
        if self._librdkafka is None:
            self._librdkafka = self._build_librdkafka()
        return _run_for_json([str(self._librdkafka), mode, *map(str, arguments)])

    def java_produce(
        self, bootstrap: str, topic: str, records: int, size: int, batch: int
    ) -> dict[str, float]:
        """kafka-producer-perf-test at full speed; its first quarter warms the client up."""
        output = _run(
            [
                _java_tool("kafka-producer-perf-test"),
                *("--bootstrap-server", bootstrap, "--topic", topic),
                *("--num-records", str(records), "--record-size", str(size)),
                *("--throughput", "-1", "--warmup-records", str(records // 4)),
                *("--command-property", f"batch.size={batch}"),
            ]
        )
        summary = [line for line in output.splitlines() if "99.9th" in line][-1]
        found = re.match(r"\d+ steady state records sent, ([\d.]+) records/sec", summary)
        if found is None:
            raise RuntimeError(f"kafka-producer-perf-test printed: {summary}")
        return {"records": float(records), "seconds": records / float(found[1])}

    def java_consume(
        self, bootstrap: str, topic: str, partitions: int, records: int
    ) -> dict[str, float]:
        """Run benchmarks/AssignedConsumer.java: like kafka-consumer-perf-test, without a group."""
        return self._java("AssignedConsumer", bootstrap, topic, partitions, records)

    def java_transactions(
        self, bootstrap: str, topic: str, partitions: int, producers: int, count: int
    ) -> dict[str, float]:
        """Run benchmarks/TransactionalProducer.java: transactions of one record per partition."""
        # Until the first hundreds are done, the JVM compiles.
        warm_up = max(count // 4, 20)
        return self._java(
            "TransactionalProducer", bootstrap, topic, partitions, producers, warm_up, count
        )

    def _java(self, program: str, *arguments: object) -> dict[str, float]:
        libraries = str(kafka_dir() / "libs" / "*")
        if self._java_classes is None:
            sources = [str(path) for path in sorted(HERE.glob("*.java"))]
            classes = self._build_dir / "java"
            _run(["javac", "-nowarn", "-cp", libraries, "-d", str(classes), *sources])
            self._java_classes = classes
        path = f"{self._java_classes}{os.pathsep}{libraries}"
        logging = f"-Dlog4j2.configurationFile={kafka_dir()}/config/tools-log4j2.properties"
        command = ["java", "-Xmx512M", logging, "-cp", path, program]
        return _run_for_json([*command, *map(str, arguments)])

    def _build_librdkafka(self) -> Path:
        compiler = shutil.which("cc")
        if compiler is None:
            raise UnavailableError("no C compiler (cc) for benchmarks/librdkafka_client.c")
        folders = [Path(entry) / "confluent_kafka.libs" for entry in sys.path]
        libraries = [path for folder in folders for path in folder.glob("librdkafka*.so*")]
        if not libraries:
            raise UnavailableError("no confluent-kafka wheel with librdkafka inside")
        program = self._build_dir / "librdkafka_client"
        source = str(HERE / "librdkafka_client.c")
        library = str(libraries[0])
        options = ["-O2", "-lpthread", f"-Wl,-rpath,{libraries[0].parent}"]
        _run([compiler, "-o", str(program), source, library, *options])
        return program


def _java_tool(name: str) -> str:
    path = kafka_dir() / "bin" / name
    if not path.exists():
        raise UnavailableError(f"no {name}: run tools/install-apache-kafka")
    return str(path)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _run_for_json(command: list[str]) -> dict[str, float]:
    answer: dict[str, float] = json.loads(_run(command).splitlines()[-1])
    if answer["failed"]:
        raise RuntimeError(f"{command[0]}: {answer['failed']} records failed")
    return answer


def record_batch(count: int, size: int) -> bytes:
    """A magic-2 batch of ``count`` records with the same random value."""
    return encode_records([(None, os.urandom(size))] * count)


def encode_records(pairs: Sequence[tuple[bytes | None, bytes]]) -> bytes:
    """A magic-2 batch of records with these keys and values, and the current time."""
    timestamp = int(time.time() * 1000)
    records = bytearray()
    for number, (key, value) in enumerate(pairs):
        body = b"\0\0" + _varint(number)
        body += _varint(-1) if key is None else _varint(len(key)) + key
        body += _varint(len(value)) + value + _varint(0)
        records += _varint(len(body)) + body
    count = len(pairs)
    head = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp, -1, -1, -1, count)
    checksummed = head + bytes(records)
    tail = struct.pack(">ibI", -1, 2, crc32c.crc32c(checksummed)) + checksummed
    return struct.pack(">qi", 0, len(tail)) + tail


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def raw_produce(
    port: int,
    topic: str,
    batch: bytes,
    requests: int,
    *,
    acks: int = -1,
    in_flight: int = 5,
    partition: int = 0,
) -> float:
    """Send the same Produce request repeatedly, pipelined; returns the seconds it took."""
    frame = wire.produce_request(topic, partition, batch, acks)
    with wire.RawConnection(HOST, port) as connection:
        began = time.monotonic()
        burst = max(in_flight // 2, 1)
        sent = answered = 0
        while answered < requests:
            if sent < requests and sent - answered <= in_flight - burst:
                count = min(burst, requests - sent)
                connection.send(frame * count)
                sent += count
                continue
            response = connection.receive()
            if (error := wire.produce_error(response)) != 0:
                raise RuntimeError(f"Produce was answered with error code {error}")
            answered += 1
        return time.monotonic() - began


def raw_consume(port: int, topic: str, size_bytes: int, max_bytes: int = 1 << 20) -> float:
    """Fetch ``size_bytes`` of partition 0 from its start; returns the seconds."""
    with wire.RawConnection(HOST, port) as connection:
        began = time.monotonic()
        offset = total = 0
        while total < size_bytes:
            response = connection.call(wire.fetch_request(topic, 0, offset, max_bytes))
            found = wire.fetched(response, offset)
            if found.error != 0 or found.size_bytes == 0:
                raise RuntimeError(f"Fetch at {offset} returned {found}")
            offset, total = found.next_offset, total + found.size_bytes
        return time.monotonic() - began


def raw_latency(port: int, topic: str, count: int, rate: float, acks: int) -> dict[str, float]:
    """Round trips of a Produce request with one small record, at a fixed rate."""
    frame = wire.produce_request(topic, 0, record_batch(1, 100), acks)
    found: list[float] = []
    with wire.RawConnection(HOST, port) as connection:
        began = time.perf_counter()
        for number in range(count + count // 10):
            wait = began + number / rate - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            sent = time.perf_counter()
            connection.call(frame)
            found.append(time.perf_counter() - sent)
    return quantiles(found[count // 10 :])


def quantiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000

    return {"p50_ms": at(0.5), "p99_ms": at(0.99), "p999_ms": at(0.999)}


def latency_figures(answer: dict[str, Any]) -> dict[str, float]:
    return {name: float(answer[name]) for name in ("p50_ms", "p99_ms", "p999_ms")}
