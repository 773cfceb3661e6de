"""Validation of a connector's config: everything that is wrong, at once, in Kafka's JSON.

    {"name": class, "error_count": 2, "groups": [...],
     "configs": [{"definition": {...}, "value": {"name", "value", "errors", ...}}, ...]}

The options of the connector's class, its transforms, predicates and converters are validated
together with those that every connector has.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from moldau.connect.config.connector_options import (
    CONVERTERS,
    Defaults,
    sink_options,
    source_options,
    topic_creation_options,
)
from moldau.connect.config.cross_checks import check_sink, check_source
from moldau.connect.config.definition import ConfigDef, ConfigKey, ConfigValue
from moldau.connect.config.errors import ConfigError
from moldau.connect.config.overrides import client_overrides
from moldau.connect.config.plugin_options import add_aliases, check_chain, check_class, kind_of
from moldau.connect.config.typos import problem_of
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugin, Plugins, PluginVersionError
from moldau.connect.rest_errors import BadRequestError

log = logging.getLogger(__name__)

Json = dict[str, Any]
Config = Mapping[str, str | None]
# Below these prefixes are settings of clients and topics, and there are many.
_OPEN_PREFIXES: Final = (
    *("producer.override.", "consumer.override.", "admin.override.", "topic.creation."),
    "config.providers",
)
_NULL: Final = "null is not a value: leave the option out"


def validate(config: Config, plugins: Plugins, worker: Mapping[str, str]) -> Json:
    """What ``PUT /connector-plugins/{plugin}/config/validate`` answers.

    Args:
        config: the config with the values of config providers filled in. They are in the result:
            whoever shows it puts the references back.
        worker: the settings of the worker, such as ``key.converter``.

    Raises:
        BadRequestError: there is no connector class, or none of that name.
    """
    class_name = config.get("connector.class")
    if class_name is None:
        raise BadRequestError("connector.class is missing: name the class of the connector")
    try:
        plugin = plugins.find_connector(class_name, config.get("connector.plugin.version"))
        connector = plugin.load()
    except PluginVersionError as error:
        plugin = plugins.find_connector(class_name)
        return _wrong_version(config, plugins, worker, plugin, str(error))
    except ConfigError as error:
        raise BadRequestError(str(error)) from error
    return _Validation(config, plugins, worker, plugin, connector).result()


def problems_text(result: Json) -> str | None:
    """What a refused config is answered with (400), or None if it is valid."""
    count = result["error_count"]
    if not count:
        return None
    found = [error for each in result["configs"] for error in each["value"]["errors"]]
    lines = "\n".join(found)
    return (
        f"The configuration of the connector has {count} error(s):\n{lines}\n"
        "PUT it to /connector-plugins/{connector.class}/config/validate for a list by option"
    )


def plugin_options(plugins: Plugins, name: str, version: str | None) -> list[Json]:
    """What ``GET /connector-plugins/{plugin}/config`` answers. Raises ConfigError."""
    plugin = plugins.find(name, version)
    own = getattr(plugin.load(), "config", None) or ConfigDef()
    if plugin.type not in (PluginType.SINK, PluginType.SOURCE):
        return own.to_json()
    defaults = Defaults({"connector.plugin.version": plugin.version})
    options = sink_options if plugin.type is PluginType.SINK else source_options
    shared = options(defaults)
    for name in own.keys:
        shared.keys.pop(name, None)
    return own.to_json() + shared.to_json()


class _Validation:
    """One config, its definition as far as it is known, and the values found so far."""

    def __init__(
        self,
        config: Config,
        plugins: Plugins,
        worker: Mapping[str, str],
        plugin: Plugin,
        connector: Any,
    ) -> None:
        self.config = config
        self.plugins = plugins
        self.worker = worker
        self.connector = connector
        self.is_sink = plugin.type is PluginType.SINK
        options = sink_options if self.is_sink else source_options
        self.definition = options(_defaults(config, plugins, worker, plugin))
        add_aliases(self.definition, config, plugins)
        if not self.is_sink:
            _add_topic_groups(self.definition, config)
        self.values: dict[str, ConfigValue] = {}

    def result(self) -> Json:
        own: ConfigDef = getattr(self.connector, "config", None) or ConfigDef()
        self._validate(self.definition)
        self._validate(own)
        self.definition.keys.update(own.keys)
        for name, value in self.config.items():
            if value is None:
                self._value(name).errors.append(_NULL)
        for name, key in self.definition.keys.items():
            if kind := kind_of(name, key):
                check_class(self.values, name, kind, self.plugins)
        if self.is_sink:
            check_sink(self.config, self.worker, self._value)
        else:
            check_source(self.worker, self.connector, self._value)
        extra = [*client_overrides(self.config, self.worker, self.is_sink), *self._converters()]
        self._check_unknown([value.name for _, value in extra])
        has_errors = any(value.errors for value in self.values.values())
        if not has_errors and not any(value.errors for _, value in extra):
            self._check_as_a_whole()
        return _infos(str(self.config["connector.class"]), self.definition, self.values, extra)

    def _validate(self, definition: ConfigDef) -> None:
        for value in definition.validate(self.config):
            self.values[value.name] = value

    def _value(self, name: str) -> ConfigValue:
        return self.values.setdefault(name, ConfigValue(name, self.config.get(name)))

    def _check_unknown(self, extra: list[str]) -> None:
        known = [*self.definition.keys, *extra]
        for name in self.config:
            if name in known or name.startswith(_OPEN_PREFIXES):
                continue
            if problem := problem_of(name, self.config, known):
                self._value(name).errors.append(problem)

    def _check_as_a_whole(self) -> None:
        """What needs several options, or the outside world: only if each option is valid."""
        config = {name: value for name, value in self.config.items() if value is not None}
        try:
            check_chain(config, self.plugins)
        except ConfigError as error:
            self._value("transforms").errors.append(str(error))
        try:
            problems = self.connector.validate(config)
        except Exception as error:
            log.warning("%s could not validate a config: %s", self.connector.__name__, error)
            message = f"The connector could not validate its configuration: {error}"
            self._value("connector.class").errors.append(message)
            return
        for problem in problems:
            self._value(problem.name).errors.append(problem.message)

    def _converters(self) -> list[tuple[ConfigKey | None, ConfigValue]]:
        """The options of converters that this connector names; the worker checks its own."""
        found: list[tuple[ConfigKey | None, ConfigValue]] = []
        for name in ("header.converter", "key.converter", "value.converter"):
            value = self.values[name]
            if self.config.get(name) is None or value.errors:
                continue
            is_header = name.startswith("header")
            kind = PluginType.HEADER_CONVERTER if is_header else PluginType.CONVERTER
            plugin = self.plugins.find(str(value.value), None, kind)
            definition = getattr(plugin.load(), "config", None) or ConfigDef()
            prefix = f"{name}."
            options = {
                each.removeprefix(prefix): text
                for each, text in self.config.items()
                if each.startswith(prefix) and text is not None
            }
            given = {"converter.type": name.partition(".")[0], **options}
            shown = ConfigDef().embed(prefix, definition)
            for each in definition.validate(given):
                each.name = prefix + each.name
                found.append((shown.keys[each.name], each))
        return found


def _add_topic_groups(definition: ConfigDef, config: Config) -> None:
    if not any(name.startswith("topic.creation.") for name in config):
        return
    names = [text.strip() for text in (config.get("topic.creation.groups") or "").split(",")]
    for group in dict.fromkeys(["default", *filter(None, names)]):
        definition.embed(f"topic.creation.{group}.", topic_creation_options(group))


def _defaults(
    config: Config, plugins: Plugins, worker: Mapping[str, str], plugin: Plugin
) -> Defaults:
    values: dict[str, Any] = {"connector.plugin.version": plugin.version}
    simple = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    for name in CONVERTERS:
        default = worker.get(name) or (simple if name.startswith("header") else None)
        values[name] = default
        chosen = config.get(name) or default
        kind = PluginType.HEADER_CONVERTER if name.startswith("header") else PluginType.CONVERTER
        if chosen:
            try:
                values[f"{name}.plugin.version"] = plugins.find(chosen, None, kind).version
            except ConfigError:
                continue  # Reported with the option itself.
    return Defaults(values)


def _wrong_version(
    config: Config, plugins: Plugins, worker: Mapping[str, str], plugin: Plugin, message: str
) -> Json:
    options = sink_options if plugin.type is PluginType.SINK else source_options
    definition = options(_defaults(config, plugins, worker, plugin))
    values = {value.name: value for value in definition.validate(config)}
    for name in ("connector.class", "connector.plugin.version"):
        values[name].errors.append(message)
    values["connector.plugin.version"].recommended_values = [plugin.version]
    return _infos(str(config["connector.class"]), definition, values, [])


def _infos(
    name: str,
    definition: ConfigDef,
    values: Mapping[str, ConfigValue],
    extra: list[tuple[ConfigKey | None, ConfigValue]],
) -> Json:
    undefined = [value for each, value in values.items() if each not in definition.keys]
    defined = [(key, values[each]) for each, key in definition.keys.items()]
    pairs = [*((None, value) for value in undefined), *defined, *extra]
    groups = [*definition.groups, *(key.group for key, _ in extra if key and key.group)]
    return {
        "name": name,
        "error_count": sum(len(value.errors) for _, value in pairs),
        "groups": list(dict.fromkeys(groups)),
        "configs": [
            {"definition": key.to_json() if key else None, "value": value.to_json()}
            for key, value in pairs
        ],
    }
