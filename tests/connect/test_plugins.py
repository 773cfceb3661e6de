"""Plugins are found by class name, short name, entry point and Python path."""

from importlib import metadata
from pathlib import Path

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.config.version_range import parse_range
from moldau.connect.connector import SinkConnector, SourceConnector
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugin, Plugins, UnknownPluginError

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
JSON = "org.apache.kafka.connect.json.JsonConverter"


class LineSink(SinkConnector):
    version = "7.1"


class LineSource(SourceConnector):
    pass


@pytest.mark.parametrize(
    "name", [FILE_SOURCE, "FileStreamSourceConnector", "FileStreamSource", " FileStreamSource "]
)
def test_a_connector_is_found_by_its_names(name: str) -> None:
    plugin = Plugins().find_connector(name)
    assert (plugin.class_name, plugin.type) == (FILE_SOURCE, PluginType.SOURCE)


def test_converters_are_found_by_short_names_too() -> None:
    plugins = Plugins()
    assert plugins.find("JsonConverter", None, PluginType.CONVERTER).class_name == JSON
    assert plugins.find("Json", None, PluginType.CONVERTER).class_name == JSON


def test_a_short_name_of_several_classes_finds_none() -> None:
    with pytest.raises(UnknownPluginError):
        Plugins().find("Value", None, PluginType.TRANSFORMATION)


@pytest.mark.parametrize(
    ("name", "kind", "meant"),
    [
        ("FileStreamSourc", PluginType.SOURCE, "FileStreamSource"),
        ("org.apache.kafka.connect.json.JsonConvertor", PluginType.CONVERTER, JSON),
        (
            "Cast$Value",
            PluginType.TRANSFORMATION,
            "org.apache.kafka.connect.transforms.Cast$Value",
        ),
        ("HasHeader", PluginType.PREDICATE, "HasHeaderKey"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    name: str, kind: PluginType, meant: str
) -> None:
    with pytest.raises(UnknownPluginError) as caught:
        Plugins().find(name, None, kind)
    assert f"There is no class {name}. Did you mean" in str(caught.value)
    assert meant in str(caught.value)


def test_an_unknown_connector_is_answered_with_all_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        Plugins().connector("Nope")
    assert "There is no connector class Nope. There are " in str(caught.value)
    assert FILE_SOURCE in str(caught.value)


def test_a_python_class_is_found_by_its_path() -> None:
    for name in (f"{__name__}.LineSink", f"{__name__}:LineSink"):
        plugin = Plugins().find_connector(name)
        assert plugin.load() is LineSink
        assert (plugin.type, plugin.version) == (PluginType.SINK, "7.1")
    with pytest.raises(ConfigError):
        Plugins().find(f"{__name__}.LineSink", None, PluginType.CONVERTER)
    with pytest.raises(ConfigError):
        Plugins().find_connector("os.path.join")


def test_entry_points_of_installed_packages_are_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "moldau.connect.connectors"
    points = metadata.EntryPoints(
        [
            metadata.EntryPoint("lines", f"{__name__}:LineSource", group),
            metadata.EntryPoint("broken", "no.such.module:Thing", group),
        ]
    )
    monkeypatch.setattr(metadata, "entry_points", lambda group: points.select(group=group))
    plugins = Plugins()
    assert plugins.connector("lines") is LineSource
    listed = {entry["class"]: entry["type"] for entry in plugins.list()}
    assert listed[f"{__name__}.LineSource"] == "source"
    assert "no.such.module.Thing" not in listed


def test_the_list_has_kafkas_shape_and_order() -> None:
    plugins = Plugins()
    connectors = plugins.list()
    assert {"sink", "source"} == {entry["type"] for entry in connectors}
    assert all(set(entry) == {"class", "type", "version"} for entry in connectors)
    everything = plugins.list(connectors_only=False)
    kinds = list(dict.fromkeys(entry["type"] for entry in everything))
    assert kinds == [
        *("sink", "source", "transformation", "predicate", "converter", "header_converter")
    ]
    transforms = [entry["class"] for entry in everything if entry["type"] == "transformation"]
    assert len([each for each in transforms if each.startswith("org.apache.")]) == 26
    assert transforms == sorted(transforms)


def test_a_plugin_that_cannot_be_imported_says_what_is_missing() -> None:
    plugin = Plugin("a.B", PluginType.SINK, "no_such_library.b:B")
    with pytest.raises(ConfigError, match=r"a\.B cannot be loaded: .*'no_such_library'"):
        Plugins([plugin]).connector("a.B")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "NameError: name 'nonsense' is not defined"),
        ("import no_such_library", "No module named 'no_such_library'"),
    ],
)
def test_a_users_module_that_fails_says_why(
    text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"broken_{len(text)}"
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"importing {module} fails with .*{reason}"):
        Plugins().connector(f"{module}.Sink")
    with pytest.raises(ConfigError, match=r"There is no connector class no_such\.x\.Sink"):
        Plugins().connector("no_such.x.Sink")


def test_a_version_is_checked_against_the_range() -> None:
    plugins = Plugins([Plugin("a.B", PluginType.SINK, "a:B", "1.4")])
    assert plugins.find_connector("a.B", "[1.0,2.0)").version == "1.4"
    assert plugins.find_connector("a.B", "latest").version == "1.4"
    with pytest.raises(ConfigError) as caught:
        plugins.find_connector("a.B", "1.5")
    assert str(caught.value) == "a.B has version 1.4, which is not in [1.5,1.5]"


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.0", ["1.0", "1"], ["1.0.1", "0.9"]),
        ("[1.0,2.0)", ["1.0", "1.9.9"], ["2.0", "0.9", "1.0-rc"]),
        ("(,1.0],[1.2,)", ["0.1", "1.0", "1.2", "99"], ["1.1"]),
        ("(1.0,)", ["1.0.1"], ["1.0"]),
        ("[1.0]", ["1.0.Final"], ["1.0-SNAPSHOT"]),
    ],
)
def test_ranges_are_mavens(text: str, inside: list[str], outside: list[str]) -> None:
    found = parse_range(text)
    assert found is not None
    assert all(found.contains(version) for version in inside)
    assert not any(found.contains(version) for version in outside)


@pytest.mark.parametrize("text", ["[1", "[1,", "(1)", "1,2", "[2.0,1.0]", "[]"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_range(text)
