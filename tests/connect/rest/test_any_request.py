"""Whatever is sent, the answer is one of the API: never an error of Python."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.connect.log_levels import LogLevels
from moldau.connect.rest.admin import Loggers
from moldau.connect.rest.application import Application
from moldau.connect.rest.connectors import Connectors
from moldau.connect.rest.messages import Request
from moldau.connect.rest.plugins import ConnectorPlugins
from moldau.connect.rest.root import Root
from tests.connect.config.connectors import plugins
from tests.connect.rest.memory_herder import MemoryHerder

PLUGINS = plugins()

texts = st.text(max_size=8)
names = st.sampled_from(["a", "b", "", "a/b", "\x07", "Lines", "Print", "root"]) | texts
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
options = st.sampled_from(
    [
        *("connector.class", "name", "topic", "topics", "topics.regex", "tasks.max", "transforms"),
        *("transforms.a.type", "transforms.a.negate", "predicates", "value.converter", "level"),
        *("value.converter.schemas.enable", "connector.plugin.version", "topic.creation.groups"),
        *("errors.deadletterqueue.topic.name", "moldau.x", "exactly.once.support"),
    ]
)
chosen = st.sampled_from(
    [
        *("Lines", "Print", "a", "a,b", "test.Tag", "(", "1", "-1", "true", "[1", "JsonConverter"),
        *("required", "t", "test.LinesConnector", "[1,2)", ","),
    ]
)
parameters = st.sampled_from(["expand", "version", "scope", "includeTasks", "connectorsOnly"])
configs = st.dictionaries(options | texts, chosen | scalars, max_size=8)
bodies = (
    configs
    | st.fixed_dictionaries({"name": names, "config": configs}, optional={"initial_state": texts})
    | st.fixed_dictionaries({"offsets": values})
    | values
)
MADE = [
    ("GET", ()),
    ("GET", ("health",)),
    *((method, ("connectors",)) for method in ("GET", "POST")),
    *((method, ("connectors", "{}")) for method in ("GET", "DELETE")),
    *((method, ("connectors", "{}", "config")) for method in ("GET", "PUT", "PATCH")),
    *((method, ("connectors", "{}", "offsets")) for method in ("GET", "PATCH", "DELETE")),
    *(("GET", ("connectors", "{}", part)) for part in ("status", "tasks", "topics")),
    *(("PUT", ("connectors", "{}", part)) for part in ("pause", "resume", "stop", "fence")),
    ("POST", ("connectors", "{}", "restart")),
    ("POST", ("connectors", "{}", "tasks", "{}", "restart")),
    ("PUT", ("connector-plugins", "{}", "config", "validate")),
    ("GET", ("connector-plugins", "{}", "config")),
    ("GET", ("admin", "loggers", "{}")),
    ("PUT", ("admin", "loggers", "{}")),
]


def application() -> tuple[Application, MemoryHerder]:
    herder = MemoryHerder(PLUGINS)
    config = {"connector.class": "Lines", "topic": "t", "name": "a"}
    herder.create("a", config)
    routes = [
        *Root(herder).routes(),
        *Connectors(herder, {}).routes(),
        *ConnectorPlugins(herder, PLUGINS).routes(),
        *Loggers(herder, LogLevels()).routes(),
    ]
    return Application(routes), herder


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MADE), st.lists(names, min_size=2, max_size=2), bodies, st.data())
def test_no_request_breaks_the_server(
    made: tuple[str, tuple[str, ...]], given_names: list[str], body: Any, data: st.DataObject
) -> None:
    method, pattern = made
    filler = iter(given_names)
    path = tuple(next(filler) if part == "{}" else part for part in pattern)
    sent = json.dumps(body).encode()
    if data.draw(st.booleans(), "is cut"):
        sent = sent[: data.draw(st.integers(0, len(sent)))]
    query = data.draw(st.dictionaries(parameters, st.lists(texts, min_size=1, max_size=1)))
    server, herder = application()
    request = Request(method, "/", path, query, {"content-type": "application/json"}, sent)
    response = server.handle(request)
    assert response.status < 500, response
    media_type, written = response.body()
    if media_type == "application/json":
        json.loads(written)
        if response.status >= 400:
            assert set(response.content) == {"error_code", "message"}
    # What was refused has changed nothing.
    if response.status >= 400:
        assert herder.connectors() == ["a"]
