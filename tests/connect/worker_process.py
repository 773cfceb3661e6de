"""A worker as a process of its own, with an engine that runs nothing.

python -m tests.connect.worker_process BOOTSTRAP PREFIX SESSION_MS
"""

import signal
import sys

from moldau.connect.herder import ConnectHerder
from moldau.connect.listeners import RestListener
from moldau.connect.rest.server import RestServer
from moldau.connect.worker_config import WorkerConfig
from tests.connect.herding import Herding, plugins


def make_rest(herder: ConnectHerder, config: WorkerConfig) -> RestServer:
    return RestServer(herder, plugins(), [RestListener("127.0.0.1", 0)], config.properties).start()


def main() -> None:
    bootstrap, prefix, session_ms = sys.argv[1:]
    settings = {"session.timeout.ms": session_ms}
    herding = Herding(bootstrap, prefix, settings=settings, make_rest=make_rest)
    signal.signal(signal.SIGTERM, lambda *_: herding.worker.end())
    herding.worker.start()
    print(herding.worker.url, flush=True)
    herding.worker.wait()
    herding.worker.stop()


if __name__ == "__main__":
    main()
