"""Fixtures of the compatibility tests: a running broker, and clients nobody here wrote.

``COMPAT_BROKER=apache`` starts Apache Kafka wherever a test would start Moldau, and
``COMPAT_BOOTSTRAP=host:port`` uses a broker that runs already. That is how a test is shown to be
right: it must pass on Apache Kafka before it may judge Moldau.
"""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import wire
from tools.brokers import BROKER_KINDS, HOST, ApacheKafkaBroker, Broker

from tests.compat.broker_talk import Both
from tests.compat.clients.base import CODECS, Client
from tests.compat.clients.members import BROKER_SETTINGS, MemberFactory
from tests.compat.clients.programs import (
    CLIENT_NAMES,
    ClientFactory,
    UnavailableError,
    require_apache_kafka,
)
from tests.compat.java_tools import SHORT_LIVED_JVM, JavaTools
from tests.compat.secured_kafka import SecuredKafka, running_kafka

HERE = Path(__file__).resolve().parent
# No broker or tool of Apache Kafka lives long enough here to gain from being optimized: without
# that it is up after a bit more than half the work.
os.environ.setdefault("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)

JOIN_GROUP = 11
TXN_OFFSET_COMMIT = 28

NO_TRANSACTIONS = "the broker does not advertise TxnOffsetCommit: no transactions yet"

_ran: dict[str, str] = {}


_STATUS = pytest.StashKey[int]()


# Workers of pytest-xdist take whole modules in this order: a long one that comes last keeps all
# the others waiting.
LONGEST_FIRST = (
    "test_lake_kills.py",
    "test_mixed_transactions.py",
    "test_connect_takeover.py",
    "test_spark_exactly_once.py",
    "test_mixed_replication.py",
    "test_replication_torment.py",
    "test_connect_cluster.py",
    "test_java_tools.py",
    "test_connect_swap.py",
    "test_connect_kills.py",
    "test_kafka_streams.py",
    "test_transaction_copier.py",
    "test_transaction_torment.py",
    "test_replication_tools.py",
    "test_postgres_to_iceberg.py",
    "test_connect_converters.py",
    "test_connect_rest.py",
    "test_connect_stores.py",
    "test_transaction_clients.py",
    "test_groups.py",
    "test_metadata_directory.py",
    "test_transactions_directory.py",
    "test_mixed_quorum.py",
    "test_log_dirs.py",
    "test_spark_exactly_once_hazards.py",
    "test_class_archive.py",
    "test_clients.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.compat)
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["ran"] = dict(_ran)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest-xdist has run, for the summary."""
    _ran.update(getattr(node, "workeroutput", {}).get("ran", {}))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End here, with the verdict of the tests.

    Native clients live in this process, and one of them (librdkafka with an OpenSSL of its own)
    now and then crashes in its exit handlers, long after the last test.
    """
    status = config.stash.get(_STATUS, None)
    if _ran and status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was tested with what, and why something was not."""
    if _ran:
        terminalreporter.section("compatibility")
        for name, version in _ran.items():
            terminalreporter.write_line(f"{name}: {version}")
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in reasons.items():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def broker_kind() -> type[Broker]:
    """What a test starts as the broker under test."""
    return BROKER_KINDS[os.environ.get("COMPAT_BROKER", "moldau")]


@pytest.fixture(scope="session")
def bootstrap(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running broker with default settings, shared by the whole session."""
    running = os.environ.get("COMPAT_BOOTSTRAP")
    if running:
        _ran["broker under test"] = f"the one at {running}"
        yield running
        return
    with broker_kind(tmp_path_factory.mktemp("broker") / "data") as broker:
        _ran["broker under test"] = f"{broker.kind}, ready after {broker.ready_s:.2f} s"
        yield broker.bootstrap
        if tracebacks := broker.log_path.read_text(errors="replace").count("Traceback"):
            _ran["broker's log"] = f"{tracebacks} tracebacks in {broker.log_path}"


@pytest.fixture(scope="session")
def program_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs of other languages are built, once for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "programs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def clients(
    bootstrap: str, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClientFactory]:
    factory = ClientFactory(bootstrap, program_dir, tmp_path_factory.mktemp("clients"))
    yield factory
    _ran.update(factory.versions())
    factory.close()


def _kafka_or_skip() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


def _client_or_skip(clients: ClientFactory, name: str) -> Client:
    try:
        return clients.get(name)
    except UnavailableError as reason:
        pytest.skip(f"{name}: {reason}")


@pytest.fixture(params=CLIENT_NAMES)
def client(request: pytest.FixtureRequest, clients: ClientFactory) -> Client:
    """Every library in turn."""
    return _client_or_skip(clients, request.param)


@pytest.fixture(params=CODECS)
def codec(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def reference(clients: ClientFactory) -> Client:
    """The client that judges what another one wrote."""
    return _client_or_skip(clients, "confluent-kafka")


@pytest.fixture
def java(clients: ClientFactory) -> Client:
    return _client_or_skip(clients, "java")


@pytest.fixture(scope="session")
def tools(bootstrap: str) -> JavaTools:
    """Apache Kafka's command-line tools, pointed at the broker under test."""
    _kafka_or_skip()
    return JavaTools(bootstrap)


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running Apache Kafka, to compare answers with."""
    _kafka_or_skip()
    with ApacheKafkaBroker(tmp_path_factory.mktemp("apache-kafka") / "data") as broker:
        yield broker


@pytest.fixture(scope="session")
def secured_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A running Apache Kafka with a listener for each security protocol."""
    _kafka_or_skip()
    with running_kafka(tmp_path_factory.mktemp("secured-kafka")) as secured:
        yield secured


@pytest.fixture(scope="session")
def kcat() -> str:
    """kcat, installed first where that is allowed: as root on a build machine."""
    if shutil.which("kcat") is None and os.environ.get("CI") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-q", "kcat"], capture_output=True)
    path = shutil.which("kcat")
    if path is None:
        pytest.skip("kcat is not on the PATH (apt-get install kcat)")
    _ran["kcat"] = subprocess.run([path, "-V"], capture_output=True, text=True).stdout.splitlines()[
        3
    ]
    return path


@pytest.fixture(scope="session")
def needs_groups(bootstrap: str) -> None:
    """Skips where the broker does not know consumer groups yet."""
    host, port = bootstrap.rsplit(":", 1)
    if JOIN_GROUP not in wire.api_versions(host, int(port)):
        pytest.skip("the broker does not advertise JoinGroup")


@pytest.fixture(scope="session")
def transaction_broker(
    broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker of its own for tests with transactions, which does not wait for more members."""
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with broker_kind(tmp_path_factory.mktemp("transactions") / "data", settings) as broker:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, broker.port):
            pytest.skip(NO_TRANSACTIONS)
        yield broker


@pytest.fixture(scope="session")
def group_broker(
    broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker of its own for groups, which takes short sessions and does not wait for more."""
    with broker_kind(tmp_path_factory.mktemp("groups") / "data", BROKER_SETTINGS) as broker:
        if JOIN_GROUP not in wire.api_versions(HOST, broker.port):
            pytest.skip("the broker does not advertise JoinGroup: no consumer groups yet")
        yield broker


@pytest.fixture(scope="session")
def group_reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Apache Kafka with the same settings, to compare with what the group broker answers."""
    _kafka_or_skip()
    directory = tmp_path_factory.mktemp("group-reference") / "data"
    with ApacheKafkaBroker(directory, BROKER_SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="session")
def group_brokers(group_reference: Broker, group_broker: Broker) -> list[int]:
    """The ports of Apache Kafka and of the broker under test."""
    return [group_reference.port, group_broker.port]


@pytest.fixture(scope="module")
def both(group_brokers: list[int]) -> Iterator[Both]:
    """Asks the two the same questions."""
    asked = Both(group_brokers)
    yield asked
    asked.close()


@pytest.fixture(scope="session")
def member_factory(program_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> MemberFactory:
    return MemberFactory(program_dir, tmp_path_factory.mktemp("members"))


@pytest.fixture
def members(member_factory: MemberFactory) -> Iterator[MemberFactory]:
    """Starts members of groups; none outlives its test."""
    yield member_factory
    member_factory.end_all()


@pytest.fixture
def topic() -> str:
    """The name of a topic that no other test uses."""
    return f"compat-{uuid.uuid4().hex[:12]}"
