"""The options of a connector's transforms, predicates and converters, below their prefixes."""

from collections.abc import Mapping, MutableMapping
from typing import Final

from moldau.connect.config.connector_options import CONVERTERS, valid_version
from moldau.connect.config.definition import (
    ConfigDef,
    ConfigKey,
    ConfigValue,
    Importance,
    Type,
    Width,
    invalid,
)
from moldau.connect.config.errors import ConfigError
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugins, PluginVersionError
from moldau.connect.transforms.chain import build

Config = Mapping[str, str | None]
# The option with the aliases, the kind of plugin, and what Kafka calls it.
_ALIASED: Final = (
    ("transforms", PluginType.TRANSFORMATION, "Transforms", "Transformation"),
    ("predicates", PluginType.PREDICATE, "Predicates", "Predicate"),
)


def add_aliases(definition: ConfigDef, config: Config, plugins: Plugins) -> None:
    """Add ``transforms.ALIAS.type`` and what else belongs to each transform and predicate."""
    for option, kind, group, title in _ALIASED:
        for alias in aliases(config, option):
            prefix = f"{option}.{alias}."
            shown = f"{group}: {alias}"
            version = None
            options = _implicit_options() if kind is PluginType.TRANSFORMATION else ConfigDef()
            class_name = config.get(f"{prefix}type")
            if class_name:
                try:
                    plugin = plugins.find(class_name, None, kind)
                    own = getattr(plugin.load(), "config", None) or ConfigDef()
                except ConfigError:
                    options = ConfigDef()  # Reported with the type.
                else:
                    version = plugin.version
                    hidden = {**own.keys, **options.keys}
                    options.keys.update(hidden)
            definition.define(
                f"{prefix}type",
                Type.CLASS,
                importance=Importance.HIGH,
                doc=f"The class of the {title.lower()} {alias!r}.",
                group=shown,
                order=0,
                width=Width.LONG,
                display_name=f"{title} type for {alias}",
            )
            definition.define(
                f"{prefix}plugin.version",
                Type.STRING,
                version,
                valid_version,
                Importance.HIGH,
                f"The version of the {title.lower()} {alias!r}.",
                shown,
                1,
                Width.LONG,
                f"{title} version for {alias}",
            )
            definition.embed(prefix, options if class_name else ConfigDef(), shown, 2)
            _check_stage(definition, prefix, config)


def aliases(config: Config, option: str) -> list[str]:
    """The names in ``transforms`` or ``predicates``, each once."""
    names = [name.strip() for name in (config.get(option) or "").split(",")]
    return list(dict.fromkeys(name for name in names if name))


def kind_of(name: str, key: ConfigKey) -> PluginType | None:
    """Which kind of plugin the option ``name`` names; None if it names none."""
    if name in CONVERTERS:
        is_header = name.startswith("header")
        return PluginType.HEADER_CONVERTER if is_header else PluginType.CONVERTER
    if key.type is Type.CLASS and name.endswith(".type"):
        if name.startswith("transforms."):
            return PluginType.TRANSFORMATION
        if name.startswith("predicates."):
            return PluginType.PREDICATE
    return None


def check_class(
    values: MutableMapping[str, ConfigValue], name: str, kind: PluginType, plugins: Plugins
) -> None:
    """Look the class of the option ``name`` up, in the version that the option beside it asks for.

    The value becomes the full name of the class, or None if there is none.
    """
    value = values[name]
    value.recommended_values = [plugin.class_name for plugin in plugins.of_type(kind)]
    base = name.removesuffix("type") if name.endswith(".type") else f"{name}."
    version = values[f"{base}plugin.version"]
    if value.value is None:
        version.visible = False
        return
    try:
        plugin = plugins.find(str(value.value), None, kind)
        plugin.load()
    except ConfigError as error:
        value.errors.append(str(invalid(name, value.value, str(error))))
        value.value = None
        version.visible = False
        return
    value.value = plugin.class_name
    version.recommended_values = [plugin.version]
    if version.errors or version.value is None:
        return
    try:
        plugins.find(plugin.class_name, version.value, kind)
    except PluginVersionError as error:
        value.errors.append(str(error))
        version.errors.append(str(error))


def check_chain(config: Mapping[str, str], plugins: Plugins) -> None:
    """Build the transforms once: some options are wrong only together. Raises ConfigError."""
    build(config, plugins).close()


def _implicit_options() -> ConfigDef:
    """What every transform has: its predicate (KIP-585)."""
    return (
        ConfigDef()
        .define(
            "predicate",
            Type.STRING,
            None,
            doc="The name of the predicate that decides which records are transformed.",
        )
        .define(
            "negate",
            Type.BOOLEAN,
            False,
            doc="Whether the records that the predicate does not hold for are transformed.",
        )
    )


def _check_stage(definition: ConfigDef, prefix: str, config: Config) -> None:
    """Give the options of one transform a check against each other and the predicates."""
    negate, predicate = f"{prefix}negate", f"{prefix}predicate"
    if predicate not in definition.keys:
        return
    known = aliases(config, "predicates")

    def is_negated_for_nothing(name: str, value: object) -> None:
        if negate in config and predicate not in config:
            raise ConfigError(
                f"{negate} is set without {predicate}: name a predicate, or remove it"
            )

    def is_defined(name: str, value: object) -> None:
        if value is not None and value not in known:
            there = f"there are: {', '.join(known)}" if known else "predicates is empty"
            raise invalid(name, value, f"no such predicate, {there}")

    for name, check in ((f"{prefix}type", is_negated_for_nothing), (predicate, is_defined)):
        definition.keys[name] = definition.keys[name].with_validator(check)
