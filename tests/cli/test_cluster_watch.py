"""How often a running cluster is asked for its state."""

import socket
import threading

from moldau.cli.cluster_watch import MetadataWatch

PATIENCE_S = 30.0


def test_a_broker_that_does_not_answer_does_not_make_the_table_old(bootstrap: str) -> None:
    asked = threading.Semaphore(0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        paused = f"127.0.0.1:{silent.getsockname()[1]}"

        def brokers() -> str:
            asked.release()
            return f"{paused},{bootstrap}"

        watch = MetadataWatch(brokers)
        watch.start()
        try:
            assert asked.acquire(timeout=PATIENCE_S)
            # The other broker has answered before it is asked again, after a timeout of seconds.
            assert asked.acquire(timeout=PATIENCE_S)
            assert watch.latest is not None
        finally:
            watch.stop()
