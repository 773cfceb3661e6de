"""A source, a sink, a transform and a predicate that only have options."""

from collections.abc import Mapping

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, Range, Type
from moldau.connect.connector import ConfigProblem, SinkConnector, SourceConnector
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugin, Plugins
from moldau.connect.transforms.base import Predicate, Transform

WORKER = {
    "group.id": "workers",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


class Lines(SourceConnector):
    config = (
        ConfigDef()
        .define("file", Type.STRING, None, importance=Importance.HIGH, doc="The file to read.")
        .define("topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write.")
        .define("batch.size", Type.INT, 2000, Range(1), Importance.LOW)
        .define("password", Type.PASSWORD, None)
    )

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        if config.get("file") == "/gone":
            return [
                ConfigProblem("file", "/gone does not exist: create it"),
                ConfigProblem("x", "y"),
            ]
        if config.get("file") == "/broken":
            raise OSError("the disk is gone")
        return []


class Print(SinkConnector):
    config = ConfigDef().define("file", Type.STRING, None, importance=Importance.HIGH)


class Tag(Transform):
    config = ConfigDef().define("text", Type.STRING).define("times", Type.INT, 1, Range(1))

    def configure(self, config: Mapping[str, str]) -> None:
        if self.config.parse(config)["text"] == "both":
            raise ConfigError("Only one of text and other")


class IsLong(Predicate):
    config = ConfigDef().define("length", Type.INT)


def plugins() -> Plugins:
    return Plugins(
        [
            Plugin("test.LinesConnector", PluginType.SOURCE, f"{__name__}:Lines", "1.0"),
            Plugin("test.PrintConnector", PluginType.SINK, f"{__name__}:Print", "1.0"),
            Plugin("test.Tag", PluginType.TRANSFORMATION, f"{__name__}:Tag", "1.0"),
            Plugin("test.Broken", PluginType.TRANSFORMATION, "no_such_library:Broken", "1.0"),
            Plugin("test.IsLong", PluginType.PREDICATE, f"{__name__}:IsLong", "1.0"),
        ]
    )
