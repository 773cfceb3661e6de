"""Describe and alter configurations of topics and brokers.

moldau configs describe --topic orders --all
moldau configs describe --broker 1 --format json
moldau configs alter --topic orders --add-config retention.ms=1000,flush.ms=9
moldau configs alter --topic orders --add-config cleanup.policy=[compact,delete]
moldau configs alter --broker-defaults --delete-config message.max.bytes
"""

import argparse
import re
from collections.abc import Collection, Sequence
from typing import Any

from moldau.cli.admin_command import admin_of
from moldau.cli.command_parser import add_verb
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import add_bootstrap, add_format, print_json, print_table
from moldau.client.admin import Admin, ConfigChange, ResourceType
from moldau.config.definition import SettingType
from moldau.config.describe import ConfigEntry, ConfigSource

_ENTITY_TYPES = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "groups": ResourceType.GROUP,
}
# Every setting that these know is described, whether it is set or not.
_ALWAYS_DESCRIBED = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP)
# A comma inside brackets does not end a setting.
_SEPARATOR = re.compile(r",(?![^\[]*\])")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    describe = add_verb(verbs, "describe", "show configurations")
    describe.add_argument("--all", action="store_true", help="include defaults")
    describe.add_argument("settings", nargs="*", metavar="SETTING", help="show only these")
    add_format(describe)
    _add_entity(describe)
    describe.set_defaults(action=_describe)

    alter = add_verb(verbs, "alter", "change configurations")
    alter.add_argument(
        "--add-config",
        metavar="K=V,K=[V,V]",
        action="append",
        default=[],
        help="settings to change; a list goes in brackets",
    )
    alter.add_argument(
        "--delete-config",
        metavar="K,K",
        action="append",
        default=[],
        help="settings to reset to their defaults",
    )
    alter.add_argument("--validate-only", action="store_true", help="validate without applying")
    _add_entity(alter)
    alter.set_defaults(action=_alter)


def _add_entity(parser: argparse.ArgumentParser) -> None:
    entity = parser.add_mutually_exclusive_group(required=True)
    entity.add_argument("--topic", metavar="NAME", help="one topic")
    entity.add_argument("--broker", metavar="ID", help="one broker")
    entity.add_argument(
        "--broker-defaults", action="store_true", help="the defaults of all brokers"
    )
    entity.add_argument("--entity-type", choices=_ENTITY_TYPES, help="as in kafka-configs.sh")
    parser.add_argument("--entity-name", metavar="NAME", help="with --entity-type")
    parser.add_argument(
        "--entity-default",
        action="store_true",
        help="with --entity-type brokers: the defaults of all brokers",
    )
    add_bootstrap(parser)


def run(options: argparse.Namespace) -> int:
    resource, name = _entity(options)
    with admin_of(options) as admin:
        options.action(admin, resource, name, options)
    return 0


def _entity(options: argparse.Namespace) -> tuple[ResourceType, str]:
    if options.entity_type is None and (options.entity_name is not None or options.entity_default):
        option = "--entity-default" if options.entity_default else "--entity-name"
        raise UsageError(f"{option}: goes with --entity-type")
    if options.topic is not None:
        return ResourceType.TOPIC, options.topic
    if options.broker is not None:
        return ResourceType.BROKER, options.broker
    if options.broker_defaults:
        return ResourceType.BROKER, ""
    resource = _ENTITY_TYPES[options.entity_type]
    if options.entity_default:
        if options.entity_name is not None:
            raise UsageError("give --entity-name or --entity-default, not both")
        if resource is not ResourceType.BROKER:
            raise UsageError("--entity-default: only brokers have cluster-wide defaults")
        return resource, ""
    if not options.entity_name:
        raise UsageError(f"--entity-type {options.entity_type}: --entity-name is required")
    return resource, options.entity_name


def _describe(admin: Admin, resource: ResourceType, name: str, options: argparse.Namespace) -> None:
    wanted = options.settings or None
    entries = admin.describe_configs(resource, name, wanted)
    _require_known(resource, name, options.settings, entries)
    if not options.all and not wanted:
        entries = [entry for entry in entries if _is_own(resource, entry.source)]
    if options.format == "json":
        print_json([_as_json(entry) for entry in entries])
        return
    if not entries:
        print("No configurations are set; --all shows the defaults.")
        return
    rows = [
        (
            entry.name,
            "(hidden)" if entry.sensitive else entry.value,
            _source(entry.source),
            "read-only" if entry.read_only else "",
        )
        for entry in entries
    ]
    print_table(("SETTING", "VALUE", "SOURCE", ""), rows)


def _alter(admin: Admin, resource: ResourceType, name: str, options: argparse.Namespace) -> None:
    changes: list[tuple[str, ConfigChange, str | None]] = []
    for text in options.add_config:
        for item in _SEPARATOR.split(text):
            key, equals, value = item.partition("=")
            if not equals or not key.strip():
                raise UsageError(
                    f"--add-config {item}: expected key=value, or key=[a,b] for a list"
                )
            value = value.strip()
            if value.startswith("[") and value.endswith("]"):
                value = value[1:-1]
            changes.append((key.strip(), ConfigChange.SET, value))
    for text in options.delete_config:
        keys = [key.strip() for key in text.split(",")]
        changes += [(key, ConfigChange.DELETE, None) for key in keys if key]
    if not changes:
        raise UsageError("configs alter: --add-config or --delete-config is required")
    deleted = [key for key, change, _ in changes if change is ConfigChange.DELETE]
    if deleted:
        # The broker takes a misspelt name for a setting that is not set.
        described = name or _any_broker(admin)
        entries = admin.describe_configs(resource, described, deleted)
        _require_known(resource, described, deleted, entries)
    admin.alter_configs(resource, name, changes, validate_only=options.validate_only)
    what = _title(resource, name)
    verb = "Would change" if options.validate_only else "Changed"
    print(f"{verb} {', '.join(key for key, _, _ in changes)} of {what}.")


def _require_known(
    resource: ResourceType, name: str, names: Collection[str], entries: Sequence[ConfigEntry]
) -> None:
    """Raises CommandError if one of ``names`` is not among the settings found."""
    if resource not in _ALWAYS_DESCRIBED or not name:
        return
    found = {entry.name for entry in entries}
    for each in names:
        if each not in found and not each.startswith("listener.name."):
            raise CommandError(
                f"{_title(resource, name)} has no setting {each}; --all shows those it has"
            )


def _any_broker(admin: Admin) -> str:
    """The id of a broker: all of them know the same settings."""
    return str(admin.nodes.brokers()[0].node_id)


def _title(resource: ResourceType, name: str) -> str:
    if not name:
        return "all brokers"
    return f"{resource.name.lower().replace('_', ' ')} {name}"


def _is_own(resource: ResourceType, source: ConfigSource) -> bool:
    """Whether a value was set dynamically for this resource itself."""
    inherited = (ConfigSource.DEFAULT_CONFIG, ConfigSource.STATIC_BROKER_CONFIG)
    if resource is ResourceType.TOPIC:
        return source is ConfigSource.TOPIC_CONFIG
    return source not in inherited


def _source(source: ConfigSource) -> str:
    return {
        ConfigSource.TOPIC_CONFIG: "topic",
        ConfigSource.DYNAMIC_BROKER_CONFIG: "broker (dynamic)",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers (dynamic)",
        ConfigSource.STATIC_BROKER_CONFIG: "server.properties",
        ConfigSource.DEFAULT_CONFIG: "default",
    }.get(source, source.name.lower().replace("_", " "))


def _as_json(entry: ConfigEntry) -> dict[str, Any]:
    known = {int(each): each.name for each in SettingType}
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "type": known.get(entry.type, "UNKNOWN"),
        "read_only": entry.read_only,
        "sensitive": entry.sensitive,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": each.source.name}
            for each in entry.synonyms
        ],
        "documentation": entry.doc,
    }
