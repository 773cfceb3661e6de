"""Requests to a Connect worker, in the order in which they are sent to Apache's and to ours.

``{file}`` in a body is a file with a few lines. Where the two workers differ on purpose,
``DIFFERENCES`` says why.
"""

import json
from typing import Any, Final, NamedTuple

JSON: Final = {"Content-Type": "application/json"}
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
KAFKA: Final = "org.apache.kafka.connect"


class Ask(NamedTuple):
    """A request. ``name`` identifies it in ``DIFFERENCES``."""

    name: str
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = JSON

    def sent(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


class Until(NamedTuple):
    """Wait until a connector and its tasks, if a number is given, are in a state."""

    connector: str
    state: str = "RUNNING"
    tasks: int | None = 1


class UntilTopics(NamedTuple):
    """Wait until a connector has used a topic."""

    connector: str


Step = Ask | Until | UntilTopics

SOURCE: Final = {"connector.class": "FileStreamSource", "file": "{file}", "topic": "lines"}
SINK: Final = {"connector.class": "FileStreamSink", "file": "{file}.out", "topics": "lines"}
VALIDATE: Final = "/connector-plugins/FileStreamSource/config/validate"
VALIDATE_SINK: Final = "/connector-plugins/FileStreamSink/config/validate"
OFFSETS: Final = {"offsets": [{"partition": {"filename": "{file}"}, "offset": {"position": 3}}]}


def create(name: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "config": config, **more}


_ROOT: Final[list[Step]] = [
    Ask("root", "GET", "/"),
    Ask("health", "GET", "/health"),
    Ask("no such path", "GET", "/nope"),
    Ask("root is not posted", "POST", "/", b"{}"),
    Ask("html is not given", "GET", "/connectors", headers={"Accept": "text/html"}),
    Ask("any type is fine", "GET", "/connectors", headers={"Accept": "*/*"}),
    Ask("head", "HEAD", "/connectors"),
    Ask("options", "OPTIONS", "/connectors"),
    Ask("a slash at the end", "GET", "/connectors/"),
]
_CREATE: Final[list[Step]] = [
    Ask("no connectors", "GET", "/connectors"),
    Ask("create", "POST", "/connectors", create("a", {**SOURCE, "note": 1, "flag": True})),
    Until("a"),
    Ask("create again", "POST", "/connectors", create("a", SOURCE)),
    Ask("create a sink", "POST", "/connectors", create("s", SINK)),
    Until("s"),
    Ask("create stopped", "POST", "/connectors", create("b", SOURCE, initial_state="STOPPED")),
    Ask("create paused", "POST", "/connectors", create("p", SOURCE, initial_state="paused")),
    Until("p", "PAUSED", None),
    Ask("status when created paused", "GET", "/connectors/p/status"),
    Ask("delete a paused one", "DELETE", "/connectors/p"),
    Ask("create with blanks around", "POST", "/connectors", create("  t  ", SOURCE)),
    Until("t"),
    Ask("create with unicode", "POST", "/connectors", create("Größe 🙂", SOURCE)),
    Until("Gr%C3%B6%C3%9Fe%20%F0%9F%99%82"),
    Ask("get with unicode", "GET", "/connectors/Gr%C3%B6%C3%9Fe%20%F0%9F%99%82"),
    Ask("delete with unicode", "DELETE", "/connectors/Gr%C3%B6%C3%9Fe%20%F0%9F%99%82"),
    Ask("create with a slash", "POST", "/connectors", create("x/y", SOURCE)),
    Ask("get with a slash", "GET", "/connectors/x%2Fy"),
    Ask("create nameless", "POST", "/connectors", create("", SOURCE)),
    Ask("create with a bell", "POST", "/connectors", create("x\ay", SOURCE)),
    Ask("two names", "POST", "/connectors", create("x", {**SOURCE, "name": "y"})),
    Ask("no class", "POST", "/connectors", create("x", {})),
    Ask("unknown class", "POST", "/connectors", create("x", {"connector.class": "FileStream"})),
    Ask("no topic", "POST", "/connectors", create("x", {"connector.class": "FileStreamSource"})),
    Ask("two errors", "POST", "/connectors", create("x", {**SINK, "topics": "", "tasks.max": 0})),
    Ask("broken JSON", "POST", "/connectors", b"{"),
    Ask("empty body", "POST", "/connectors", b""),
    Ask("a list", "POST", "/connectors", b"[]"),
    Ask("no config", "POST", "/connectors", b'{"name":"x"}'),
    Ask("unknown field", "POST", "/connectors", create("x", SOURCE, other=1)),
    Ask("unknown state", "POST", "/connectors", create("x", SOURCE, initial_state="LATER")),
    Ask("nested config", "POST", "/connectors", create("x", {**SOURCE, "y": {}})),
    Ask("a form", "POST", "/connectors", b"name=x", FORM),
    Ask("connectors are not patched", "PATCH", "/connectors", b"{}"),
]
_READ: Final[list[Step]] = [
    Ask("info", "GET", "/connectors/a"),
    Ask("info of a sink", "GET", "/connectors/s"),
    Ask("info of none", "GET", "/connectors/none"),
    Ask("config", "GET", "/connectors/a/config"),
    Ask("config of none", "GET", "/connectors/none/config"),
    Ask("status", "GET", "/connectors/a/status"),
    Ask("status when stopped", "GET", "/connectors/b/status"),
    Ask("status of none", "GET", "/connectors/none/status"),
    Ask("tasks", "GET", "/connectors/a/tasks"),
    Ask("tasks of none", "GET", "/connectors/none/tasks"),
    Ask("task", "GET", "/connectors/a/tasks/0/status"),
    Ask("no such task", "GET", "/connectors/a/tasks/7/status"),
    Ask("no number of a task", "GET", "/connectors/a/tasks/x/status"),
    Ask("expanded", "GET", "/connectors?expand=info&expand=status"),
    Ask("expanded by nothing known", "GET", "/connectors?expand=all"),
    UntilTopics("a"),
    UntilTopics("s"),
    Ask("topics", "GET", "/connectors/s/topics"),
    Ask("topics of a source", "GET", "/connectors/a/topics"),
    Ask("topics of none", "GET", "/connectors/none/topics"),
    Ask("reset topics", "PUT", "/connectors/s/topics/reset"),
    Ask("reset topics of none", "PUT", "/connectors/none/topics/reset"),
    Ask("status is not put", "PUT", "/connectors/a/status", b"{}"),
]
_CHANGE: Final[list[Step]] = [
    Ask("put", "PUT", "/connectors/a/config", {**SOURCE, "batch.size": "10"}),
    Until("a"),
    Ask("put a new one", "PUT", "/connectors/n/config", SOURCE),
    Until("n"),
    Ask("put another name", "PUT", "/connectors/a/config", {**SOURCE, "name": "z"}),
    Ask("put an invalid one", "PUT", "/connectors/a/config", {**SOURCE, "batch.size": "x"}),
    Ask("put nothing", "PUT", "/connectors/a/config", b""),
    Ask("patch", "PATCH", "/connectors/a/config", {"batch.size": None, "note": "x"}),
    Until("a"),
    Ask("patch the topic away", "PATCH", "/connectors/a/config", {"topic": None}),
    Ask("patch none", "PATCH", "/connectors/none/config", {}),
    Ask("pause", "PUT", "/connectors/a/pause"),
    Until("a", "PAUSED"),
    Ask("status when paused", "GET", "/connectors/a/status"),
    Ask("resume", "PUT", "/connectors/a/resume"),
    Until("a"),
    Ask("pause none", "PUT", "/connectors/none/pause"),
    Ask("resume none", "PUT", "/connectors/none/resume"),
    Ask("stop none", "PUT", "/connectors/none/stop"),
    Ask("restart", "POST", "/connectors/a/restart"),
    Until("a"),
    Ask("restart with tasks", "POST", "/connectors/a/restart?includeTasks=true"),
    Until("a"),
    Ask("restart the failed", "POST", "/connectors/a/restart?includeTasks=true&onlyFailed=true"),
    Ask("restart none", "POST", "/connectors/none/restart"),
    Ask("restart tasks of none", "POST", "/connectors/none/restart?includeTasks=true"),
    Ask("restart a task", "POST", "/connectors/a/tasks/0/restart"),
    Until("a"),
    Ask("restart no such task", "POST", "/connectors/a/tasks/7/restart"),
    Ask("task configs between workers", "POST", "/connectors/a/tasks", b"[]"),
    Ask("fence between workers", "PUT", "/connectors/a/fence", b""),
]
_OFFSETS: Final[list[Step]] = [
    Ask("offsets", "GET", "/connectors/b/offsets"),
    Ask("offsets of none", "GET", "/connectors/none/offsets"),
    Ask("alter while running", "PATCH", "/connectors/a/offsets", OFFSETS),
    Ask("reset while running", "DELETE", "/connectors/a/offsets"),
    Ask("stop", "PUT", "/connectors/a/stop"),
    Until("a", "STOPPED", 0),
    Ask("alter", "PATCH", "/connectors/a/offsets", OFFSETS),
    Ask("altered", "GET", "/connectors/a/offsets"),
    Ask("alter nothing", "PATCH", "/connectors/a/offsets", {"offsets": []}),
    Ask("alter without offsets", "PATCH", "/connectors/a/offsets", {}),
    Ask("alter no partition", "PATCH", "/connectors/a/offsets", {"offsets": [{"offset": {}}]}),
    Ask(
        *("alter a foreign partition", "PATCH", "/connectors/a/offsets"),
        {"offsets": [{"partition": {"table": "t"}, "offset": {"position": 1}}]},
    ),
    Ask("reset", "DELETE", "/connectors/a/offsets"),
    Ask("alter none", "PATCH", "/connectors/none/offsets", OFFSETS),
    Ask("reset none", "DELETE", "/connectors/none/offsets"),
    Ask("stop a sink", "PUT", "/connectors/s/stop"),
    Until("s", "STOPPED", 0),
    Ask("offsets of a sink", "GET", "/connectors/s/offsets"),
    Ask("reset a sink", "DELETE", "/connectors/s/offsets"),
    Ask("a sink without offsets", "GET", "/connectors/s/offsets"),
]
_PLUGINS: Final[list[Step]] = [
    Ask("plugins", "GET", "/connector-plugins"),
    Ask("all plugins", "GET", "/connector-plugins?connectorsOnly=false"),
    Ask("options of a source", "GET", "/connector-plugins/FileStreamSource/config"),
    Ask(
        *("options of a sink", "GET"),
        f"/connector-plugins/{KAFKA}.file.FileStreamSinkConnector/config",
    ),
    Ask("options of a converter", "GET", "/connector-plugins/JsonConverter/config"),
    Ask(
        "options of a transform", "GET", f"/connector-plugins/{KAFKA}.transforms.Cast$Value/config"
    ),
    Ask("options of a predicate", "GET", "/connector-plugins/TopicNameMatches/config"),
    Ask("options of none", "GET", "/connector-plugins/NoSuchPlugin/config"),
    Ask("another version", "GET", "/connector-plugins/FileStreamSource/config?version=99"),
    Ask("no version", "GET", "/connector-plugins/FileStreamSource/config?version=%5B1"),
    Ask("any version", "GET", "/connector-plugins/FileStreamSource/config?version=latest"),
    Ask("validate a source", "PUT", VALIDATE, {**SOURCE, "name": "x"}),
    Ask("validate a sink", "PUT", VALIDATE_SINK, {**SINK, "name": "x"}),
    Ask("validate another", "PUT", VALIDATE, SINK),
    Ask("validate without a class", "PUT", VALIDATE, {}),
    Ask(
        *("validate an unknown class", "PUT", "/connector-plugins/NoSuch/config/validate"),
        {"connector.class": "NoSuch"},
    ),
    Ask("validate nothing", "PUT", VALIDATE, b""),
    Ask("validate a form", "PUT", VALIDATE, b"a=b", FORM),
    Ask(
        *("validate wrong values", "PUT", VALIDATE_SINK),
        {
            **SINK,
            "name": "x",
            "topics.regex": "l.*",
            "tasks.max": "0",
            "errors.tolerance": "some",
            "errors.deadletterqueue.topic.name": "lines",
            "config.action.reload": "later",
            "value.converter": "NoConverter",
        },
    ),
    Ask(
        *("validate transforms", "PUT", VALIDATE),
        {
            **SOURCE,
            "name": "x",
            "transforms": "a,b,c",
            "transforms.a.type": f"{KAFKA}.transforms.Filter",
            "transforms.a.predicate": "p",
            "transforms.b.type": "NoTransform",
            "transforms.c.type": f"{KAFKA}.transforms.InsertField$Value",
            "transforms.c.negate": "true",
            "predicates": "p",
            "predicates.p.type": f"{KAFKA}.transforms.predicates.TopicNameMatches",
            "predicates.p.pattern": "(",
        },
    ),
    Ask(
        *("validate a converter", "PUT", VALIDATE),
        {
            **SOURCE,
            "name": "x",
            "value.converter": f"{KAFKA}.json.JsonConverter",
            "value.converter.schemas.enable": "maybe",
        },
    ),
    Ask(
        *("validate a version", "PUT", VALIDATE),
        {**SOURCE, "name": "x", "connector.plugin.version": "99"},
    ),
    Ask(
        *("validate exactly once", "PUT", VALIDATE),
        {
            **SOURCE,
            "name": "x",
            "exactly.once.support": "required",
            "transaction.boundary": "connector",
        },
    ),
    Ask(
        *("validate overrides", "PUT", VALIDATE),
        {**SOURCE, "name": "x", "producer.override.zzz": "1"},
    ),
]
_LOGGERS: Final[list[Step]] = [
    Ask("root logger", "GET", "/admin/loggers/root"),
    Ask("loggers", "GET", "/admin/loggers"),
    Ask("no such logger", "GET", "/admin/loggers/no.such.logger"),
    Ask("set a level", "PUT", "/admin/loggers/brand.new", {"level": "error"}),
    Ask("the level that was set", "GET", "/admin/loggers/brand.new"),
    Ask("set it again", "PUT", "/admin/loggers/brand.new", {"level": "ERROR"}),
    Ask("set no level", "PUT", "/admin/loggers/brand.new", {}),
    Ask("set a wrong level", "PUT", "/admin/loggers/brand.new", {"level": "loud"}),
    Ask("set in the cluster", "PUT", "/admin/loggers/brand.new?scope=cluster", {"level": "WARN"}),
    Ask("set in no scope", "PUT", "/admin/loggers/brand.new?scope=moon", {"level": "DEBUG"}),
]
_DELETE: Final[list[Step]] = [
    Ask("delete", "DELETE", "/connectors/a"),
    Ask("delete again", "DELETE", "/connectors/a"),
    Ask("delete a stopped one", "DELETE", "/connectors/b"),
    Ask("deleted", "GET", "/connectors/a"),
]

STEPS: Final[list[Step]] = [
    *_ROOT,
    *_CREATE,
    *_READ,
    *_CHANGE,
    *_OFFSETS,
    *_PLUGINS,
    *_LOGGERS,
    *_DELETE,
]

# What a request is answered with on purpose, instead of what Apache's worker says.
_BAD_REQUEST: Final = "400 and what is wrong: Apache's worker answers 500 with an error of Java"
DIFFERENCES: Final = {
    **dict.fromkeys(
        (
            *("broken JSON", "empty body", "a list", "no config", "unknown field"),
            *("unknown state", "nested config", "put nothing", "alter no partition"),
            *("validate without a class", "validate an unknown class", "validate nothing"),
        ),
        _BAD_REQUEST,
    ),
    "get with a slash": "found: Jetty refuses every path with %2F, so that Apache's worker "
    "creates a connector that can be neither read nor deleted",
}
# The same status and shape, with an error that names less of the request.
LESS_NAMED: Final = {
    "no class": "without the config, which may have a password in it",
}
