"""The converters and transforms of a connector, made from its config in whichever process.

Spark's tasks run in other processes, so nothing here is sent to them: they build it again.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.engine.error_policy import ErrorHandler, Skipped, Stage
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugins

if TYPE_CHECKING:
    from moldau.connect.converters.base import Converter, HeaderConverter
    from moldau.connect.converters.json_converter import JsonConverter
    from moldau.connect.transforms.chain import Chain

# Converters that pass on a text or bytes without looking at them. A value that is not valid in
# the encoding is the difference; sinks that take Arrow get the bytes.
_VERBATIM: Final = (
    "org.apache.kafka.connect.storage.StringConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter",
)
_HEADERS: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class Stages:
    """Key, value and header converters and the chain of transforms."""

    def __init__(self, spec: ConnectorSpec, plugins: Plugins | None = None) -> None:
        """Raises ConfigError if a class does not exist or an option is invalid."""
        from moldau.connect.transforms.chain import build

        found = plugins or Plugins()
        # Each with Kafka's name of its class, for logs and dead letters.
        self.key: Converter
        self.value: Converter
        self.headers: HeaderConverter
        self.key, self.key_class = _converter(spec, "key.converter", found, is_key=True)
        self.value, self.value_class = _converter(spec, "value.converter", found, is_key=False)
        self.headers, self.header_class = _converter(spec, "header.converter", found, is_key=False)
        self.chain: Chain = build(spec.config, found)

    @property
    def has_columns(self) -> bool:
        """Whether records of a sink may be treated as columns."""
        return self.key.has_columns and self.value.has_columns and self.chain.has_columns

    @property
    def writes_json(self) -> "tuple[JsonConverter, JsonConverter] | None":
        """The converters of key and value if they write JSON, and there are no transforms."""
        from moldau.connect.converters.json_converter import JsonConverter

        if self.chain.stages or not type(self.key) is type(self.value) is JsonConverter:
            return None
        assert isinstance(self.key, JsonConverter)
        assert isinstance(self.value, JsonConverter)
        return self.key, self.value

    def transform(
        self, record: ConnectRecord, handler: ErrorHandler, original: Any
    ) -> ConnectRecord | None:
        """As ``chain.apply``, with retries and tolerance: for a record that has failed once."""
        current = record
        for step in self.chain.stages:
            result = handler.execute(
                Stage.TRANSFORMATION, step.class_name, partial(step.apply, current), original
            )
            if result is None or isinstance(result, Skipped):
                return None
            current = result
        return current

    def close(self) -> None:
        """Close connections, such as those to a schema registry."""
        self.chain.close()
        self.key.close()
        self.value.close()


def is_verbatim(spec: ConnectorSpec, plugins: Plugins) -> bool:
    """Whether keys and values pass as they are: String or ByteArray, and no transforms."""
    if spec.config.get("transforms", "").strip():
        return False
    for which in ("key.converter", "value.converter"):
        name, options = converter_settings(spec, which)
        if plugins.find(name, None, PluginType.CONVERTER).class_name not in _VERBATIM:
            return False
        # Texts in another encoding have to be looked at.
        if any(option.endswith("encoding") for option in options):
            return False
    return True


def converter_settings(spec: ConnectorSpec, which: str) -> tuple[str, dict[str, str]]:
    """The class and the options of a converter: the connector's own, or else the worker's.

    Options of the connector count only together with a class of the connector, as in Kafka.
    """
    for settings in (spec.config, spec.worker):
        name = settings.get(which, "").strip()
        if name:
            return name, _options(settings, f"{which}.")
    if which == "header.converter":
        return _HEADERS, {}
    raise ConfigError(f"{which} is required: set it for this connector, or for the worker")


def _converter(
    spec: ConnectorSpec, which: str, plugins: Plugins, *, is_key: bool
) -> tuple[Any, str]:
    name, options = converter_settings(spec, which)
    is_header = which == "header.converter"
    kind = PluginType.HEADER_CONVERTER if is_header else PluginType.CONVERTER
    plugin = plugins.find(name, None, kind)
    converter = plugin.load()()
    converter.configure(options, is_key)
    return converter, plugin.class_name


def _options(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix)
    }
