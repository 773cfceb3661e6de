"""What ``moldau connect`` does with connectors, through the REST API of a worker."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from moldau.cli.connect_client import ConnectClient
from moldau.cli.connect_files import ConnectorFile, is_file, read_connectors
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import plural, print_json, print_table
from moldau.cli.topics import key_value

Json = dict[str, Any]


def list_all(client: ConnectClient, options: argparse.Namespace) -> None:
    found = client.get("connectors", expand=["status", "info"])
    if options.format == "json":
        print_json(found)
        return
    rows = [_row(name, each.get("status")) for name, each in sorted(found.items())]
    if not rows:
        print("There are no connectors; 'moldau connect create FILE' creates one.", file=sys.stderr)
        return
    print_table(("CONNECTOR", "TYPE", "STATE", "TASKS", "WORKER"), rows)


def _row(name: str, status: Json | None) -> tuple[object, ...]:
    """A connector that was just created has no status yet."""
    if status is None:
        return (name, None, "UNASSIGNED", None, None)
    connector = status["connector"]
    tasks = _counts([each["state"] for each in status["tasks"]])
    return (name, status["type"], connector["state"], tasks, connector["worker_id"])


def _counts(states: list[str]) -> str | None:
    """For example ``1 RUNNING, 1 FAILED``."""
    return ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states)) or None


def create(client: ConnectClient, options: argparse.Namespace) -> None:
    if options.replace and options.initial_state:
        raise UsageError("connect create: --initial-state is for new connectors only")
    given = _given(options)
    # Checked before the first one is created.
    for each in given:
        if not each.name:
            raise UsageError(f"connect create {options.what}: a connector has no name")
    for each in given:
        _create(client, each, options)


def _create(client: ConnectClient, file: ConnectorFile, options: argparse.Namespace) -> None:
    name = str(file.name)
    if options.replace:
        client.request("PUT", ("connectors", name, "config"), body={**file.config, "name": name})
        print(f"Configured connector {name}.")
        return
    body: Json = {"name": name, "config": file.config}
    state = options.initial_state or file.initial_state
    if state:
        body["initial_state"] = state.upper()
    client.request("POST", ("connectors",), body=body)
    print(f"Created connector {name}.")


def _given(options: argparse.Namespace) -> list[ConnectorFile]:
    """The connectors of a file, or one of options and the name before them."""
    configs = _configs(options)
    if not is_file(options.what):
        if not configs:
            raise UsageError(
                f"connect {options.verb} {options.what}: there is no such file; a connector by "
                "name needs --config connector.class=... and more"
            )
        return [ConnectorFile(options.what, configs)]
    given = read_connectors(options.what)
    if configs and len(given) > 1:
        raise UsageError(f"connect {options.verb}: --config is for a file of one connector")
    return [each.with_config(configs) for each in given]


def _configs(options: argparse.Namespace) -> dict[str, str]:
    return dict(key_value("--config", text) for text in options.configs)


def status(client: ConnectClient, options: argparse.Namespace) -> None:
    names = options.names or sorted(client.get("connectors"))
    found = [client.get("connectors", name, "status") for name in names]
    if options.format == "json":
        print_json(found)
        return
    for index, each in enumerate(found):
        if index:
            print()
        _print_status(each)


def _print_status(found: Json) -> None:
    connector = found["connector"]
    print(f"{found['name']}: {found['type']}, {connector['state']} on {connector['worker_id']}")
    _print_trace(connector)
    rows = [(each["id"], each["state"], each["worker_id"]) for each in found["tasks"]]
    if rows:
        print_table(("TASK", "STATE", "WORKER"), rows, indent="  ")
    for each in found["tasks"]:
        _print_trace(each)


def _print_trace(state: Json) -> None:
    for line in state.get("trace", "").strip().splitlines():
        print(f"    {line}")


def config(client: ConnectClient, options: argparse.Namespace) -> None:
    found = client.get("connectors", options.name, "config")
    if options.format == "json":
        print_json(found)
    else:
        print_table(("OPTION", "VALUE"), sorted(found.items()))


_CHANGES = {
    "pause": ("PUT", "pause", "Paused"),
    "resume": ("PUT", "resume", "Resumed"),
    "stop": ("PUT", "stop", "Stopped"),
    "delete": ("DELETE", None, "Deleted"),
}


def change(client: ConnectClient, options: argparse.Namespace) -> None:
    method, verb, done = _CHANGES[options.verb]
    for name in options.names:
        path = ("connectors", name) if verb is None else ("connectors", name, verb)
        client.request(method, path)
        print(f"{done} connector {name}.")


def restart(client: ConnectClient, options: argparse.Namespace) -> None:
    query = {"includeTasks": "true", "onlyFailed": str(options.only_failed).lower()}
    for name in options.names:
        answer = client.request("POST", ("connectors", name, "restart"), query)
        states = [answer["connector"]["state"], *(each["state"] for each in answer["tasks"])]
        if "RESTARTING" in states:
            print(f"Restarting connector {name}.")
        else:
            print(f"Nothing of connector {name} has failed: it was not restarted.")


def offsets(client: ConnectClient, options: argparse.Namespace) -> None:
    path = ("connectors", options.name, "offsets")
    if options.reset:
        print(client.request("DELETE", path)["message"])
        return
    if options.alter is not None:
        print(client.request("PATCH", path, body=_offsets_file(options.alter))["message"])
        return
    found = client.get(*path)
    if options.format == "json":
        print_json(found)
        return
    rows = [(_words(each["partition"]), _words(each["offset"])) for each in found["offsets"]]
    if not rows:
        print(f"Connector {options.name} has no offsets yet.", file=sys.stderr)
        return
    print_table(("PARTITION", "OFFSET"), rows)


def _offsets_file(path: str) -> Any:
    try:
        content = json.loads(sys.stdin.read() if path == "-" else Path(path).read_text("utf-8"))
    except ValueError as error:
        raise CommandError(f"{path}: not JSON: {error}") from None
    if isinstance(content, list):
        content = {"offsets": content}
    if not isinstance(content, dict) or not isinstance(content.get("offsets"), list):
        raise CommandError(
            f'{path}: expected {{"offsets": [{{"partition": ..., "offset": ...}}]}}, as '
            f"'moldau connect offsets NAME --format json' prints"
        )
    return content


def _words(fields: Json | None) -> str | None:
    """``{"file": "a"}`` as ``file=a``."""
    if fields is None:
        return None
    return " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in fields.items()
    )


def plugins(client: ConnectClient, options: argparse.Namespace) -> None:
    only = str(not options.all).lower()
    found = client.get("connector-plugins", connectorsOnly=only)
    if options.format == "json":
        print_json(found)
        return
    rows = [(each["type"], each["class"], each.get("version")) for each in found]
    print_table(("TYPE", "CLASS", "VERSION"), sorted(rows))


def validate(client: ConnectClient, options: argparse.Namespace) -> int:
    if is_file(options.what):
        given = [(each.name, each.config) for each in _given(options)]
    else:
        given = [(None, {"connector.class": options.what, **_configs(options)})]
    results = [_validated(client, name, config, options.what) for name, config in given]
    if options.format == "json":
        print_json(results[0] if len(results) == 1 else results)
        return 1 if any(each["error_count"] for each in results) else 0
    for (name, _), result in zip(given, results, strict=True):
        where = f"{name}: " if len(results) > 1 else ""
        for each in result["configs"]:
            for problem in each["value"]["errors"]:
                print(f"{where}{each['value']['name']}: {problem}")
    if count := sum(each["error_count"] for each in results):
        print(f"{plural(count, 'error')} in the configuration.", file=sys.stderr)
        return 1
    print("The configuration is valid.")
    return 0


def _validated(client: ConnectClient, name: str | None, config: dict[str, str], what: str) -> Json:
    if "connector.class" not in config:
        raise CommandError(f"{what}: connector.class is missing")
    path = ("connector-plugins", config["connector.class"], "config", "validate")
    body = {"name": name or "validated", **config}
    return dict(client.request("PUT", path, body=body))
