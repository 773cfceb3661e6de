"""``moldau connect`` against a worker's REST API, with an engine that runs nothing."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moldau.cli import connect_worker
from moldau.connect.herder import ConnectHerder
from moldau.connect.listeners import LISTENERS, RestListener, parse_listeners
from moldau.connect.providers import Providers
from moldau.connect.rest.server import RestServer
from moldau.connect.worker_config import WorkerConfig
from tests.certificates import Authority, encrypted
from tests.cli.conftest import Moldau, Result
from tests.connect.herding import SINK, SOURCE, Herding, plugins

Connect = Callable[..., Result]


def make_rest(herder: ConnectHerder, config: WorkerConfig) -> RestServer:
    return RestServer(herder, plugins(), [RestListener("127.0.0.1", 0)], config.properties).start()


@pytest.fixture(scope="module")
def herding(bootstrap: str) -> Iterator[Herding]:
    worker = Herding(bootstrap, "cli", make_rest=make_rest).start()
    yield worker
    worker.stop()


@pytest.fixture
def connect(moldau: Moldau, herding: Herding) -> Connect:
    def run(*arguments: str) -> Result:
        return moldau("connect", *arguments, "--url", herding.worker.url, is_local=True)

    return run


@pytest.fixture
def orders(connect: Connect, herding: Herding) -> Iterator[str]:
    """A connector that runs, and is deleted after the test."""
    assert connect("create", "orders", "--config", f"connector.class={SINK}").code == 0
    herding.wait_for_state("orders", "RUNNING")
    yield "orders"
    connect("delete", "orders")
    herding.wait(lambda: "orders" not in herding.worker._statuses.snapshot().connectors)


def test_a_connector_is_created_from_json(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    file.write_text(
        json.dumps({"name": "lines", "config": {"connector.class": SOURCE, "tasks.max": 1}})
    )
    created = connect("create", str(file), "--initial-state", "stopped")
    assert (created.code, created.out) == (0, "Created connector lines.\n")
    again = connect("create", str(file))
    assert (again.code, again.err) == (
        1,
        "moldau: There is a connector lines already: choose another name\n",
    )
    shown = connect("config", "lines", "--format", "json")
    assert json.loads(shown.out) == {"connector.class": SOURCE, "tasks.max": "1", "name": "lines"}
    assert connect("create", str(file), "--replace").out == "Configured connector lines.\n"
    assert connect("delete", "lines").out == "Deleted connector lines.\n"


def test_a_connector_is_created_from_properties(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "props.properties"
    file.write_text(f"name=props\nconnector.class={SOURCE}\nfile=a\n")
    assert connect("create", str(file), "--config", "file=b").code == 0
    assert json.loads(connect("config", "props", "--format", "json").out)["file"] == "b"
    assert connect("delete", "props").code == 0


def test_several_connectors_are_in_one_file(
    connect: Connect, herding: Herding, tmp_path: Path
) -> None:
    file = tmp_path / "pipeline.json"
    pipeline = [
        {"name": "pipe-in", "config": {"connector.class": SOURCE}},
        {"name": "pipe-out", "connector.class": SINK, "topics": "pipe"},
    ]
    file.write_text(json.dumps(pipeline))
    assert connect("validate", str(file)).out == "The configuration is valid.\n"
    created = connect("create", str(file))
    assert created.out == "Created connector pipe-in.\nCreated connector pipe-out.\n"
    assert "file of one connector" in connect("create", str(file), "--config", "x=1").err
    file.write_text(json.dumps([*pipeline, {"config": {}}]))
    assert "a connector has no name" in connect("create", str(file), "--replace").err
    for wrong, problem in (("[]", "no connector in the list"), ("[1]", "1 is not a connector")):
        file.write_text(wrong)
        assert problem in connect("create", str(file)).err
    assert connect("delete", "pipe-in", "pipe-out").code == 0


def test_connectors_are_listed_with_their_states(connect: Connect, orders: str) -> None:
    lines = connect("list").out.splitlines()
    assert lines[0].split() == ["CONNECTOR", "TYPE", "STATE", "TASKS", "WORKER"]
    (line,) = (each for each in lines if each.startswith("orders"))
    assert line.split()[1:5] == ["sink", "RUNNING", "1", "RUNNING"]
    found = json.loads(connect("list", "--format", "json").out)
    assert found["orders"]["status"]["connector"]["state"] == "RUNNING"


def test_states_change(connect: Connect, herding: Herding, orders: str) -> None:
    assert connect("pause", orders).out == "Paused connector orders.\n"
    herding.wait_for_state(orders, "PAUSED")
    assert connect("status", orders).out.startswith("orders: sink, PAUSED on 127.0.0.1:")
    assert connect("resume", orders).code == 0
    herding.wait_for_state(orders, "RUNNING")
    assert connect("stop", orders).code == 0
    herding.wait_for_state(orders, "STOPPED", [])
    assert json.loads(connect("status", orders, "--format", "json").out)[0]["tasks"] == []


@pytest.mark.parametrize("name", ["a/b c", "Größe ☃", "100%25", "a?b#c", "..", "a;b+c", "x" * 500])
def test_any_name_can_be_used(connect: Connect, herding: Herding, name: str) -> None:
    assert connect("create", name, "--config", f"connector.class={SINK}").code == 0
    herding.wait_for_state(name, "RUNNING")
    assert f"{name}: sink, RUNNING" in connect("status", name).out
    assert name in connect("list").out
    assert connect("stop", name).out == f"Stopped connector {name}.\n"
    herding.wait_for_state(name, "STOPPED", [])
    assert connect("offsets", name).code == 0
    assert connect("delete", name).code == 0
    herding.wait(lambda: connect("status", name).code == 1)


def test_the_error_of_a_task_is_shown_and_it_is_restarted(
    connect: Connect, herding: Herding, orders: str
) -> None:
    said = connect("restart", orders, "--only-failed").out
    assert said == "Nothing of connector orders has failed: it was not restarted.\n"
    herding.engine.failing["orders"] = "DataError: no\n\tat line 3"
    assert connect("restart", orders).out == "Restarting connector orders.\n"
    herding.wait_for_state(orders, "RUNNING", ["FAILED"])
    assert "    DataError: no\n" in connect("status", orders).out
    herding.engine.failing.clear()
    assert connect("restart", orders, "--only-failed").out == "Restarting connector orders.\n"
    herding.wait_for_state(orders, "RUNNING")


def test_offsets_are_shown_altered_and_reset(
    connect: Connect, herding: Herding, tmp_path: Path
) -> None:
    source = ("spring", "--config", f"connector.class={SOURCE}")
    assert connect("create", *source, "--initial-state", "stopped").code == 0
    herding.wait_for_state("spring", "STOPPED", [])
    assert "has no offsets yet" in connect("offsets", "spring").err
    file = tmp_path / "offsets.json"
    offsets = [{"partition": {"file": "a"}, "offset": {"position": 7}}]
    file.write_text(json.dumps({"offsets": offsets}))
    assert "are altered" in connect("offsets", "spring", "--alter", str(file)).out
    assert connect("offsets", "spring").out.splitlines()[1].split() == ["file=a", "position=7"]
    assert json.loads(connect("offsets", "spring", "--format", "json").out) == {"offsets": offsets}
    assert "are reset" in connect("offsets", "spring", "--reset").out
    file.write_text("[1")
    assert "not JSON" in connect("offsets", "spring", "--alter", str(file)).err
    file.write_text('{"a": 1}')
    assert "expected" in connect("offsets", "spring", "--alter", str(file)).err
    assert connect("delete", "spring").code == 0


def test_plugins_are_listed(connect: Connect) -> None:
    assert ["sink", SINK, "1.2"] in [line.split() for line in connect("plugins").out.splitlines()]
    found = json.loads(connect("plugins", "--all", "--format", "json").out)
    assert {"sink", "source", "converter", "transformation"} <= {each["type"] for each in found}


def test_a_configuration_is_validated(connect: Connect, tmp_path: Path) -> None:
    assert connect("validate", SINK).out == "The configuration is valid.\n"
    wrong = connect("validate", SINK, "--config", "wrong=1")
    assert (wrong.code, wrong.out) == (1, "wrong: wrong is wrong: 1\n")
    assert wrong.err == "1 error in the configuration.\n"
    file = tmp_path / "empty.json"
    file.write_text("{}")
    assert "connector.class is missing" in connect("validate", str(file)).err
    file.write_bytes(b"name=\xff\xfe")
    assert "not UTF-8: invalid start byte at byte 5" in connect("create", str(file)).err


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["status", "nobody"], 1, "There is no status of connector nobody"),
        (["delete", "nobody"], 1, "There is no connector nobody"),
        (["pause", "a/b c"], 1, "There is no connector a/b c"),
        (["create", "nothing.json"], 2, "there is no such file"),
        (["create", "x", "--config", "y"], 2, "--config y"),
        (["restart"], 2, "NAME"),
    ],
)
def test_mistakes_are_named(
    connect: Connect, arguments: list[str], code: int, problem: str
) -> None:
    result = connect(*arguments)
    assert result.code == code
    assert problem in result.err


def test_a_worker_that_does_not_answer_is_named(moldau: Moldau) -> None:
    result = moldau("connect", "list", "--url", "127.0.0.1:1", is_local=True)
    assert result.code == 1
    assert "no Connect worker answers at http://127.0.0.1:1: Connection refused" in result.err
    result = moldau("connect", "list", "--url", "ftp://x", is_local=True)
    assert (result.code, "write http://host:port" in result.err) == (2, True)


def test_a_worker_is_asked_over_https(
    moldau: Moldau, herding: Herding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    keys = {"ssl.keystore.location": str(authority.sign("worker"))}
    listeners = parse_listeners(LISTENERS, ["https://127.0.0.1:0"], keys)
    with RestServer(herding.worker.herder, plugins(), listeners, {}) as server:
        url = f"https://localhost:{server.port}"
        result = moldau("connect", "list", "--url", url, is_local=True)
        assert result.code == 1
        assert f"the certificate of {url} is not trusted" in result.err
        assert "set SSL_CERT_FILE" in result.err
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
        assert moldau("connect", "list", "--url", url, is_local=True).code == 0
    keys |= {
        "ssl.client.auth": "required",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
    }
    listeners = parse_listeners(LISTENERS, ["https://127.0.0.1:0"], keys)
    with RestServer(herding.worker.herder, plugins(), listeners, {}) as server:
        url = f"https://localhost:{server.port}"
        result = moldau("connect", "list", "--url", url, is_local=True)
        assert result.code == 1
        assert f"{url} ended the TLS connection" in result.err
        assert "ssl.client.auth=required" in result.err


def test_a_wrong_password_ends_a_worker_at_its_start(moldau: Moldau, tmp_path: Path) -> None:
    store = encrypted(Authority(tmp_path).sign("worker"))
    file = tmp_path / "worker.properties"
    text = (
        "bootstrap.servers=127.0.0.1:1\nkey.converter=x\nvalue.converter=x\n"
        f"offset.storage.file.filename={tmp_path}/offsets\nlisteners=https://127.0.0.1:0\n"
        f"ssl.keystore.location={store}\nssl.key.password=s3cret\n"
    )
    file.write_text(text)
    result = moldau("connect", "standalone", str(file), is_local=True)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert f"ssl.keystore.location={store}: a key in PEM" in result.err
    assert "ssl.key.password must be that of the key" in result.err
    assert "s3cret" not in result.err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("bootstrap.servers=localhost:9092\n", "key.converter is required"),
        ("bootstrap.servers=\\u12\n", "worker.properties"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_of_a_worker_is_named(
    moldau: Moldau, tmp_path: Path, content: str | None, problem: str
) -> None:
    file = tmp_path / "worker.properties"
    if content is not None:
        file.write_text(content)
    result = moldau("connect", "worker", str(file), is_local=True)
    assert result.code == 1
    assert "worker.properties" in result.err
    assert problem in result.err


def test_a_connector_of_a_standalone_worker_needs_a_name(moldau: Moldau, tmp_path: Path) -> None:
    file = tmp_path / "connector.properties"
    file.write_text("connector.class=x\n")
    result = moldau("connect", "standalone", "none.properties", str(file), is_local=True)
    assert (result.code, "add name=..." in result.err) == (1, True)


def test_neither_spark_nor_the_engine_is_imported_to_list_connectors() -> None:
    program = (
        "import sys, moldau.cli.connect;"
        "print([m for m in sys.modules if 'pyspark' in m or 'pyarrow' in m"
        " or m.startswith('moldau.connect')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_the_log_of_a_worker_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-path")
    config = {"url": "https://hooks.example/${env:HOOK_TOKEN}"}
    settings = {"config.providers": "env", "config.providers.env.class": "EnvVarConfigProvider"}
    url = Providers.from_settings(settings).resolve(config).config["url"]
    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    before, levels = root.handlers[:], (root.level, py4j.level)
    # Handlers that it finds there are closed.
    root.handlers.clear()
    try:
        connect_worker._start_log("info")
        logging.getLogger("moldau.connect.engine").warning("written again: %s is away", url)
    finally:
        root.handlers[:] = before
        root.setLevel(levels[0])
        py4j.setLevel(levels[1])
    logged = capsys.readouterr().err
    assert "WARNING written again: https://hooks.example/${env:HOOK_TOKEN} is away" in logged
