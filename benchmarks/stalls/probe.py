"""The probe: a separate process that sends a small request every few milliseconds.

Lines on its standard input start and end a measurement; it prints the result as one line of JSON.
Besides the wall time of each response it measures the CPU time of the broker during it: on a busy
machine the broker does not cause all of the wall time. The CPU time of the event loop alone is what
others wait for even if no other thread of the broker runs. A response has arrived when the kernel
received it, not when a busy machine lets the probe read it.
"""

import json
import os
import socket
import struct
import sys
import threading
import time

from benchmarks.stalls.process import Process
from benchmarks.stalls.wire import Wire, framed
from moldau.protocol.messages.metadata import MetadataRequest

INTERVAL_S = 0.003
METADATA_VERSION = 12
RESPONSE_MAX_BYTES = 65536
# The option of Linux to get the time at which bytes were received, in nanoseconds.
SO_TIMESTAMPNS = 35
TIMESTAMP = struct.Struct("qq")


class Probe:
    """Repeatedly sends a Metadata request without topics."""

    def __init__(self, port: int, pid: int) -> None:
        self._wire = Wire(port)
        self._wire.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._process = Process(pid)
        self._question = framed(MetadataRequest(topics=[]), METADATA_VERSION)
        self.is_over = False
        self.forget()

    def forget(self) -> None:
        self.count = 0
        # Wall and CPU milliseconds of the longest wait.
        self.worst = (0.0, 0.0)
        self.most_cpu_ms = 0.0
        self.most_loop_cpu_ms = 0.0
        self.waits_ms: list[float] = []

    def run(self) -> None:
        while not self.is_over:
            cpu_before = self._process.cpu_ms()
            loop_cpu_before = self._process.loop_cpu_ms()
            begin = time.time_ns()
            self._wire.socket.sendall(self._question)
            wall = (self._arrival_ns() - begin) / 1e6
            # More than this was not used before the response arrived.
            loop_cpu = min(self._process.loop_cpu_ms() - loop_cpu_before, wall)
            cpu = min(self._process.cpu_ms() - cpu_before, wall * (os.cpu_count() or 1))
            self.count += 1
            self.worst = max(self.worst, (wall, cpu))
            self.most_cpu_ms = max(self.most_cpu_ms, cpu)
            self.most_loop_cpu_ms = max(self.most_loop_cpu_ms, loop_cpu)
            self.waits_ms.append(wall)
            time.sleep(INTERVAL_S)

    def _arrival_ns(self) -> int:
        """Read a response; returns when its last bytes were received."""
        received = b""
        arrived_ns = time.time_ns()
        while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4]):
            data, extras, *_ = self._wire.socket.recvmsg(RESPONSE_MAX_BYTES, 128)
            received += data
            if not data:
                raise ConnectionError("the broker closed the connection")
            arrived_ns = time.time_ns()
            for _, kind, value in extras:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = TIMESTAMP.unpack(value)
                    arrived_ns = seconds * 1_000_000_000 + nanoseconds
        return arrived_ns

    def seen(self) -> dict[str, float]:
        waits = sorted(self.waits_ms) or [0.0]
        return {
            "answers": self.count,
            "worst_ms": self.worst[0],
            "worst_cpu_ms": self.worst[1],
            "most_cpu_ms": self.most_cpu_ms,
            "most_loop_cpu_ms": self.most_loop_cpu_ms,
            "p99_ms": waits[int(len(waits) * 0.99) - 1],
        }


def main() -> None:
    probe = Probe(int(sys.argv[1]), int(sys.argv[2]))
    asking = threading.Thread(target=probe.run)
    asking.start()
    for line in sys.stdin:
        if line.strip() == "begin":
            probe.forget()
            print("{}", flush=True)
        else:
            # The request in progress is part of the measurement.
            asked = probe.count
            while probe.count == asked:
                time.sleep(INTERVAL_S)
            print(json.dumps(probe.seen()), flush=True)
    probe.is_over = True
    asking.join()


if __name__ == "__main__":
    main()
