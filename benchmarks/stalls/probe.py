"""The probe: a separate process that sends a small request every few milliseconds.

Lines on its standard input start and end a measurement; it prints the result as one line of JSON.
Besides the wall time of each response it measures the CPU time of the broker during it: on a busy
machine the broker does not cause all of the wall time.
"""

import json
import sys
import threading
import time

from benchmarks.stalls.process import Process
from benchmarks.stalls.wire import Wire, framed
from moldau.protocol.messages.metadata import MetadataRequest

INTERVAL_S = 0.003
METADATA_VERSION = 12


class Probe:
    """Repeatedly sends a Metadata request without topics."""

    def __init__(self, port: int, pid: int) -> None:
        self._wire = Wire(port)
        self._process = Process(pid)
        self._question = framed(MetadataRequest(topics=[]), METADATA_VERSION)
        self.is_over = False
        self.forget()

    def forget(self) -> None:
        self.count = 0
        # Wall and CPU milliseconds of the longest wait.
        self.worst = (0.0, 0.0)
        self.worst_cpu_ms = 0.0
        self.waits_ms: list[float] = []

    def run(self) -> None:
        while not self.is_over:
            cpu_before = self._process.cpu_ms()
            begin = time.perf_counter()
            self._wire.socket.sendall(self._question)
            self._wire.skip_frame()
            wall = (time.perf_counter() - begin) * 1000
            cpu = self._process.cpu_ms() - cpu_before
            self.count += 1
            self.worst = max(self.worst, (wall, cpu))
            self.worst_cpu_ms = max(self.worst_cpu_ms, cpu)
            self.waits_ms.append(wall)
            time.sleep(INTERVAL_S)

    def seen(self) -> dict[str, float]:
        waits = sorted(self.waits_ms) or [0.0]
        return {
            "answers": self.count,
            "worst_ms": self.worst[0],
            "worst_cpu_ms": self.worst[1],
            "most_cpu_ms": self.worst_cpu_ms,
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
