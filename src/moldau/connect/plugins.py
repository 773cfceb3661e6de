"""Finds connectors, converters, transforms, predicates and config providers by name.

A name is one of

* the class name that Kafka's or another product's documentation uses:
  ``org.apache.kafka.connect.file.FileStreamSourceConnector``;
* its last part, with or without the usual ending: ``FileStreamSource``, ``JsonConverter``;
* the name of an entry point, which an installed package declares in one of the groups of
  ``ENTRY_POINTS``;
* a Python class that can be imported: ``my_package.my_module.MyConnector``.

Whatever is found is imported when it is used, not before.
"""

import importlib
import inspect
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from moldau.connect.config.definition import nearest
from moldau.connect.config.errors import ConfigError
from moldau.connect.config.version_range import parse_range
from moldau.connect.plugin_table import BUILT_IN, CONNECTOR_ALIASES, SUFFIXES, PluginType
from moldau.version import VERSION

log = logging.getLogger(__name__)

# A package offers its own: [project.entry-points."moldau.connect.connectors"].
ENTRY_POINTS: Final = {
    PluginType.TRANSFORMATION: "moldau.connect.transforms",
    PluginType.PREDICATE: "moldau.connect.predicates",
    PluginType.CONVERTER: "moldau.connect.converters",
    PluginType.HEADER_CONVERTER: "moldau.connect.header_converters",
    PluginType.CONFIG_PROVIDER: "moldau.connect.config_providers",
}
CONNECTOR_ENTRY_POINTS: Final = "moldau.connect.connectors"
# What a class found by its Python name must have, so that the base classes are not imported here.
_BASES: Final = {
    PluginType.SINK: "SinkConnector",
    PluginType.SOURCE: "SourceConnector",
    PluginType.TRANSFORMATION: "Transform",
    PluginType.PREDICATE: "Predicate",
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.CONFIG_PROVIDER: "ConfigProvider",
}
_CONNECTORS: Final = (PluginType.SINK, PluginType.SOURCE)


class UnknownPluginError(ConfigError):
    """No plugin has this name."""


class PluginVersionError(ConfigError):
    """The plugin exists, but not in the version that was asked for."""


@dataclass(frozen=True)
class Plugin:
    """A plugin and where its class is: ``target`` is "module:Class"."""

    class_name: str
    type: PluginType
    target: str
    version: str = VERSION

    def load(self) -> Any:
        """The class.

        Raises:
            ConfigError: if it cannot be imported, with the reason.
        """
        module, _, name = self.target.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except Exception as error:
            # Importing may fail in any way: the module may be a user's.
            kind = "" if isinstance(error, ImportError | AttributeError) else type(error).__name__
            message = f"{self.class_name} cannot be loaded: {kind and f'{kind}: '}{error}"
            missing = getattr(error, "name", None)
            if isinstance(error, ModuleNotFoundError) and missing and "moldau" not in missing:
                message += f". Install {missing!r}, or moldau[connect] with what connectors need"
            raise ConfigError(message) from error
        return found

    def to_json(self) -> dict[str, str]:
        return {"class": self.class_name, "type": self.type.value, "version": self.version}


class Plugins:
    """All plugins of this installation."""

    def __init__(self, extra: Iterable[Plugin] = ()) -> None:
        """Use ``extra`` for plugins that are neither built in nor declared by a package."""
        self._plugins: dict[PluginType, dict[str, Plugin]] = {
            kind: {name: Plugin(name, kind, target) for name, target in table.items()}
            for kind, table in BUILT_IN.items()
        }
        for plugin in extra:
            self._plugins[plugin.type][plugin.class_name] = plugin
        self._has_entry_points = False
        self._entry_point_names: dict[str, str] = {}

    def connector(self, class_name: str, version: str | None = None) -> Any:
        """The class of a connector.

        Raises:
            ConfigError: if there is none of this name or version; the message names the nearest.
        """
        return self.find_connector(class_name, version).load()

    def converter(self, class_name: str, version: str | None = None) -> Any:
        return self.find(class_name, version, PluginType.CONVERTER).load()

    def header_converter(self, class_name: str, version: str | None = None) -> Any:
        return self.find(class_name, version, PluginType.HEADER_CONVERTER).load()

    def transform(self, class_name: str, version: str | None = None) -> Any:
        return self.find(class_name, version, PluginType.TRANSFORMATION).load()

    def predicate(self, class_name: str, version: str | None = None) -> Any:
        return self.find(class_name, version, PluginType.PREDICATE).load()

    def config_provider(self, class_name: str, version: str | None = None) -> Any:
        return self.find(class_name, version, PluginType.CONFIG_PROVIDER).load()

    def find_connector(self, class_name: str, version: str | None = None) -> Plugin:
        """As ``connector``, without importing it."""
        return self.find(class_name, version, *_CONNECTORS)

    def find(self, name: str, version: str | None, *kinds: PluginType) -> Plugin:
        """The plugin of one of ``kinds`` (of any, without) that ``name`` stands for."""
        kinds = kinds or tuple(PluginType)
        plugin = self._lookup(name.strip(), kinds)
        if plugin is None:
            raise UnknownPluginError(self._unknown(name, kinds))
        wanted = parse_range(version)
        if wanted is not None and not wanted.contains(plugin.version):
            raise PluginVersionError(
                f"{plugin.class_name} has version {plugin.version}, which is not in {wanted}"
            )
        return plugin

    def list(self, connectors_only: bool = True) -> list[dict[str, str]]:
        """What ``GET /connector-plugins`` prints."""
        self._read_entry_points()
        kinds = [kind for kind in PluginType if kind is not PluginType.CONFIG_PROVIDER]
        if connectors_only:
            kinds = list(_CONNECTORS)
        return [plugin.to_json() for kind in kinds for plugin in self.of_type(kind)]

    def of_type(self, kind: PluginType) -> Sequence[Plugin]:
        """The plugins of a kind, ordered by class name."""
        self._read_entry_points()
        return [plugin for _, plugin in sorted(self._plugins[kind].items())]

    def _lookup(self, name: str, kinds: tuple[PluginType, ...]) -> Plugin | None:
        name = CONNECTOR_ALIASES.get(name, name)
        found = self._known(name, kinds)
        if found is None:
            self._read_entry_points()
            name = self._entry_point_names.get(name, name)
            found = self._known(name, kinds)
        return found or _importable(name, kinds)

    def _known(self, name: str, kinds: tuple[PluginType, ...]) -> Plugin | None:
        for kind in kinds:
            if name in self._plugins[kind]:
                return self._plugins[kind][name]
        # A short name counts only if it is clear which class it means.
        found = {
            plugin.class_name: plugin
            for kind in kinds
            for plugin in self._plugins[kind].values()
            if name in short_names(plugin)
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _unknown(self, name: str, kinds: tuple[PluginType, ...]) -> str:
        plugins = [plugin for kind in kinds for plugin in self.of_type(kind)]
        names = list(dict.fromkeys(plugin.class_name for plugin in plugins))
        parts = {full.rpartition(".")[2]: full for full in names}
        short = [alias for plugin in plugins for alias in short_names(plugin)]
        close = nearest(name, [*names, *parts, *short, *CONNECTOR_ALIASES])
        hint = f" Did you mean {parts.get(close, close)}?" if close else ""
        if kinds == _CONNECTORS:
            return f"There is no connector class {name}.{hint} There are {', '.join(names)}"
        return f"There is no class {name}.{hint}"

    def _read_entry_points(self) -> None:
        if self._has_entry_points:
            return
        for kind, group in ENTRY_POINTS.items():
            for point in metadata.entry_points(group=group):
                self._add(point, kind)
        for point in metadata.entry_points(group=CONNECTOR_ENTRY_POINTS):
            # Only the class itself says whether it is a source or a sink.
            try:
                found = _kind_of(point.load(), _CONNECTORS)
            except Exception as error:
                log.warning("Connector %s of %s is left out: %s", point.name, point.value, error)
                continue
            if found is not None:
                self._add(point, found)
        self._has_entry_points = True

    def _add(self, point: metadata.EntryPoint, kind: PluginType) -> None:
        class_name = point.value.replace(":", ".")
        version = point.dist.version if point.dist else VERSION
        self._plugins[kind].setdefault(class_name, Plugin(class_name, kind, point.value, version))
        self._entry_point_names.setdefault(point.name, class_name)


def short_names(plugin: Plugin) -> tuple[str, ...]:
    """The names by which a plugin is found besides its own: Kafka's aliases."""
    simple = plugin.class_name.replace("$", ".").rpartition(".")[2]
    suffix = SUFFIXES[plugin.type]
    if simple.endswith(suffix) and simple != suffix:
        return simple, simple.removesuffix(suffix)
    return (simple,)


def _importable(name: str, kinds: tuple[PluginType, ...]) -> Plugin | None:
    """The Python class of this name, if it is one of ``kinds``."""
    module, _, class_name = name.replace(":", ".").rpartition(".")
    if not module or not class_name.isidentifier():
        return None
    try:
        found = getattr(importlib.import_module(module), class_name, None)
    except Exception as error:
        # Not a Python class at all, most likely; otherwise a module that cannot be imported.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            return None
        raise ConfigError(
            f"{name} cannot be loaded: importing {module} fails with "
            f"{type(error).__name__}: {error}"
        ) from error
    kind = _kind_of(found, kinds)
    if kind is None:
        return None
    return Plugin(
        f"{module}.{class_name}",
        kind,
        f"{module}:{class_name}",
        getattr(found, "version", VERSION),
    )


def _kind_of(found: Any, kinds: tuple[PluginType, ...]) -> PluginType | None:
    if not inspect.isclass(found):
        return None
    bases = {
        base.__name__ for base in found.__mro__[1:] if base.__module__.startswith("moldau.connect.")
    }
    return next((kind for kind in kinds if _BASES[kind] in bases), None)
