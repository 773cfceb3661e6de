"""Configuration files of connectors: properties, or JSON as Kafka's REST API takes it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from moldau.cli.errors import CommandError
from moldau.config.properties import parse_properties


class ConnectorFile(NamedTuple):
    """A connector as a file describes it."""

    name: str | None
    config: dict[str, str]
    initial_state: str | None = None

    def with_config(self, more: Mapping[str, str]) -> "ConnectorFile":
        """The same with some options changed."""
        config = {**self.config, **more}
        return ConnectorFile(more.get("name", self.name), config, self.initial_state)


def is_file(name: str) -> bool:
    """Whether there is such a file; a name that no file can have names a connector."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def read_connectors(path: str) -> list[ConnectorFile]:
    """The connectors in a file: one of properties, or one or a list of JSON.

    In JSON, a connector is ``{"name", "config", "initial_state"}`` or its configuration itself.

    Raises:
        CommandError: the file is none of these.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    if not text.lstrip().startswith(("{", "[")):
        try:
            config = parse_properties(text)
        except ValueError as error:
            raise CommandError(f"{path}: {error}") from None
        return [ConnectorFile(config.get("name"), config)]
    try:
        content = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{path}: not JSON: {error}") from None
    if isinstance(content, dict):
        return [_connector(path, content)]
    if not content:
        raise CommandError(f"{path}: there is no connector in the list")
    return [_connector(path, each) for each in content]


def _connector(path: str, content: Any) -> ConnectorFile:
    if not isinstance(content, dict):
        given = json.dumps(content)
        raise CommandError(f"{path}: {given} is not a connector: it must be an object")
    if not isinstance(content.get("config"), dict):
        config = _texts(path, content)
        return ConnectorFile(config.get("name"), config)
    config = _texts(path, content["config"])
    name = content.get("name") or config.get("name")
    return ConnectorFile(name, config, content.get("initial_state"))


def _texts(path: str, config: dict[str, Any]) -> dict[str, str]:
    """Numbers and booleans as texts, which is what Kafka makes of them."""
    texts = {}
    for name, value in config.items():
        if isinstance(value, dict | list) or value is None:
            raise CommandError(f"{path}: the option {name} is {json.dumps(value)}, not a string")
        texts[name] = value if isinstance(value, str) else json.dumps(value)
    return texts
