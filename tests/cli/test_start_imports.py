"""What ``moldau start`` leaves out, so that a single node starts fast and takes little memory."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moldau.client import Admin, ResourceType

# Runs the command; when it ends, it reports what it has imported and the state of its collector.
PROGRAM = """
import atexit, gc, json, sys
from moldau.cli.main import main

def report():
    print("REPORT", json.dumps([sorted(sys.modules), gc.isenabled(), gc.get_freeze_count()]))

atexit.register(report)
sys.exit(main(["start", "--listen", "127.0.0.1:0", "--data-dir", sys.argv[1], *sys.argv[2:]]))
"""

# Of the standard library: together they take two megabytes.
UNUSED = ("bz2", "hashlib", "hmac", "ipaddress", "lzma", "pathlib", "shlex", "shutil")
# Of rare APIs, and of clusters of several nodes.
RARE = (
    "moldau.broker.handlers.clients",
    "moldau.broker.handlers.configs",
    "moldau.broker.handlers.envelope",
    "moldau.broker.handlers.log_dirs",
    "moldau.broker.handlers.records",
    "moldau.broker.handlers.security",
    "moldau.broker.handlers.telemetry",
    "moldau.broker.handlers.topic_partitions",
    "moldau.broker.handlers.transaction_admin",
    "moldau.broker.handlers.write_txn_markers",
    "moldau.broker.leader_requests",
    "moldau.broker.replica_fetcher",
    "moldau.controller.alter_partition",
    "moldau.controller.feature_updates",
    "moldau.controller.quotas",
    "moldau.controller.reassignments",
    "moldau.controller.scram",
    "moldau.network.outbound",
)


class Started:
    """A broker process; ``modules`` and what follows are known when it has ended."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.modules: list[str] = []
        self.collects = False
        self.permanent_count = 0


@contextlib.contextmanager
def started(data_dir: Path) -> Iterator[Started]:
    command = [sys.executable, "-c", PROGRAM, str(data_dir)]
    # Unbuffered, so that the address is read when it is printed.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        assert process.stdout is not None
        try:
            found = (re.search(r"ready on (127\.0\.0\.1:\d+)", line) for line in process.stdout)
            broker = Started(next(filter(None, found))[1])
            yield broker
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
        report: Any = json.loads(rest.partition("REPORT ")[2])
        broker.modules, broker.collects, broker.permanent_count = report


def test_a_single_node_does_not_import_what_only_other_nodes_and_rare_apis_need(
    tmp_path: Path,
) -> None:
    with started(tmp_path) as broker:
        pass
    # A virtual environment may import modules of its own before the command.
    bare = [sys.executable, "-c", "import sys; print(*sys.modules)"]
    before = subprocess.run(bare, check=True, capture_output=True, text=True).stdout.split()
    assert {*UNUSED, *RARE}.isdisjoint(set(broker.modules) - set(before))


def test_a_rare_api_is_imported_with_its_first_request(tmp_path: Path) -> None:
    with started(tmp_path) as broker, Admin(broker.address) as admin:
        admin.create_topic("river")
        assert admin.describe_configs(ResourceType.TOPIC, "river")
    assert "moldau.broker.handlers.configs" in broker.modules
    assert "moldau.broker.handlers.log_dirs" not in broker.modules


def test_the_garbage_of_a_broker_is_collected_but_not_what_it_has_imported(tmp_path: Path) -> None:
    with started(tmp_path) as broker:
        pass
    assert broker.collects
    assert broker.permanent_count > 10_000
