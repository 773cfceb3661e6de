"""Every plugin that comes with Moldau: its class loads, and its options are said and checked."""

import json

import pytest

from moldau.connect.config.validation import plugin_options, validate
from moldau.connect.connector import Connector
from moldau.connect.plugin_table import CONNECTOR_ALIASES, PluginType
from moldau.connect.plugins import Plugin, Plugins

PLUGINS = Plugins()
ALL = [plugin for kind in PluginType for plugin in PLUGINS.of_type(kind)]
# Options that need no words.
SPEAKING = (".user", ".password")
CONNECTORS = [plugin for plugin in ALL if plugin.type in (PluginType.SINK, PluginType.SOURCE)]


def name(plugin: Plugin) -> str:
    return f"{plugin.type.value}-{plugin.class_name}"


@pytest.mark.parametrize("plugin", ALL, ids=name)
def test_the_class_of_a_name_in_the_table_is_there(plugin: Plugin) -> None:
    assert plugin.load()


@pytest.mark.parametrize(
    "plugin", [each for each in ALL if each.type is not PluginType.CONFIG_PROVIDER], ids=name
)
def test_its_options_are_json_and_have_a_meaning(plugin: Plugin) -> None:
    options = plugin_options(PLUGINS, plugin.class_name, None)
    json.dumps(options)
    names = [option["name"] for option in options]
    assert len(names) == len(set(names))
    if plugin.type in (PluginType.SINK, PluginType.SOURCE):
        silent = [option["name"] for option in options if not option["documentation"]]
        assert [each for each in silent if not each.endswith(SPEAKING)] == []


@pytest.mark.parametrize("plugin", CONNECTORS, ids=name)
def test_an_empty_config_of_a_connector_has_errors_and_raises_none(plugin: Plugin) -> None:
    assert issubclass(plugin.load(), Connector)
    result = validate({"connector.class": plugin.class_name}, PLUGINS, {})
    assert result["error_count"] > 0
    json.dumps(result)


@pytest.mark.parametrize("alias", CONNECTOR_ALIASES)
def test_the_class_name_of_another_product_is_one_of_ours(alias: str) -> None:
    plugin = PLUGINS.find_connector(alias)
    assert plugin.class_name == CONNECTOR_ALIASES[alias]
    assert plugin in CONNECTORS
