"""The same requests to Apache's Connect worker and to ours: same status, same shape of JSON.

Where the two differ on purpose, ``connect_requests.DIFFERENCES`` has the reason. The shape of an
answer is its keys and the types of its values; lists have the shapes of their entries. With the
names of options and plugins, values are compared as well.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from tools.brokers import MoldauBroker

from tests.compat.apache_connect import ApacheWorker, MoldauWorker, distributed_settings
from tests.compat.connect_requests import DIFFERENCES, LESS_NAMED, STEPS, Ask, Until
from tests.compat.connect_talk import Answer, ask, missing, wait_for_state, wait_for_topics


class Pair(NamedTuple):
    apache: Answer
    ours: Answer


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    """The answers of both workers to all requests."""
    if lacking := missing(apache=True, ours=True):
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("connect")
    lines = folder / "lines.txt"
    lines.write_text("one\ntwo\nthree\n")
    with (
        MoldauBroker(folder / "a") as first,
        MoldauBroker(folder / "b") as second,
        ApacheWorker(folder, distributed_settings(first.bootstrap, "apache")) as apache,
        MoldauWorker(folder, distributed_settings(second.bootstrap, "ours")) as ours,
    ):
        return replay((apache.port, ours.port), str(lines))


def replay(ports: tuple[int, int], path: str) -> dict[str, Pair]:
    found = {}
    for step in STEPS:
        if not isinstance(step, Ask):
            wait = wait_for_state if isinstance(step, Until) else wait_for_topics
            for port in ports:
                wait(port, *step)
            continue
        body = step.sent()
        if body is not None:
            body = body.replace(b"{file}", path.encode())
        pair = [ask(port, step.method, step.path, body, step.headers) for port in ports]
        found[step.name] = Pair(*pair)
    return found


ASKED = [step for step in STEPS if isinstance(step, Ask)]


def test_there_are_enough_requests_and_each_has_its_own_name() -> None:
    names = [step.name for step in ASKED]
    assert len(names) >= 75
    assert len(set(names)) == len(names)
    assert set(DIFFERENCES) <= set(names)


@pytest.mark.parametrize("step", ASKED, ids=lambda step: step.name)
def test_a_request_is_answered_alike(step: Ask, answers: dict[str, Pair]) -> None:
    apache, ours = answers[step.name]
    if step.name in DIFFERENCES:
        # It must still be a difference, and our answer a proper one.
        assert (apache.status, shape_of(apache)) != (ours.status, shape_of(ours))
        assert ours.status < 500
        return
    assert ours.status == apache.status, (apache, ours)
    assert shape_of(ours) == shape_of(apache)
    if apache.body and apache.status < 400 and step.method != "HEAD":
        assert ours.headers.get("Content-Type") == apache.headers.get("Content-Type")
    assert ("Location" in ours.headers) == ("Location" in apache.headers)


@pytest.mark.parametrize("step", ASKED, ids=lambda step: step.name)
def test_an_error_names_what_kafkas_names(step: Ask, answers: dict[str, Pair]) -> None:
    """The words are ours; the names and values of the request that are to blame are in both."""
    apache, ours = answers[step.name]
    if step.name in DIFFERENCES or apache.status < 400:
        return
    theirs, mine = (named(step, str(answer.json["message"])) for answer in (apache, ours))
    if step.name in LESS_NAMED:
        assert not theirs <= mine
        return
    assert theirs <= mine, (apache.json, ours.json)


def named(step: Ask, message: str) -> set[str]:
    """The parts of a request, other than the words of the API itself, that a message has in it."""
    parts = set(unquote(step.path.partition("?")[0]).split("/")) | set(texts(step.body))
    parts -= {"", "connectors", "config", "name", "offsets", "tasks", "status", "{file}"}
    return {part for part in parts if re.search(rf"(?<!\w){re.escape(part)}(?!\w)", message)}


def texts(body: Any) -> Iterator[str]:
    """The keys and values of a body."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield key
            yield from texts(value)
    elif isinstance(body, list):
        for each in body:
            yield from texts(each)
    elif isinstance(body, str | int) and not isinstance(body, bool):
        yield str(body)


def shape_of(answer: Answer) -> Any:
    try:
        content = answer.json
    except json.JSONDecodeError:
        return "text"
    if isinstance(content, dict) and "configs" in content:
        configs = [each for each in content["configs"] if not is_ours(each["value"]["name"])]
        content = {**content, "configs": configs}
    return shape(content)


def is_ours(option: str) -> bool:
    return option.startswith("moldau.")


def shape(value: Any) -> Any:
    """The keys of objects and the types of values; lists as the set of their entries' shapes."""
    if isinstance(value, dict):
        if is_loggers(value):
            return {"each logger": shape(next(iter(value.values())))}
        return {key: shape(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        shapes = {json.dumps(shape(each), sort_keys=True) for each in value}
        return sorted(shapes)
    return type(value).__name__


def is_loggers(value: dict[str, Any]) -> bool:
    return "root" in value and isinstance(value["root"], dict)


def options(answer: Answer) -> dict[str, dict[str, Any]]:
    """What is said about each option of a list or a validation, but for its documentation."""
    content = answer.json
    entries = content["configs"] if isinstance(content, dict) else content
    found = {}
    for entry in entries:
        definition = entry.get("definition", entry)
        name = (definition or entry["value"])["name"]
        if not is_ours(name):
            found[name] = {**(definition or {}), "documentation": ""}
    return found


OPTIONS = [
    *("options of a source", "options of a sink", "options of a converter"),
    *("options of a transform", "options of a predicate", "validate a source", "validate a sink"),
    *("validate wrong values", "validate transforms", "validate a converter"),
    "validate exactly once",
]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_kafkas(name: str, answers: dict[str, Pair]) -> None:
    apache, ours = (options(each) for each in answers[name])
    assert set(ours) == set(apache)
    for option, expected in apache.items():
        ignored = set()
        if option.endswith("plugin.version"):
            ignored = {"default_value"}
        if option.startswith(("transforms.", "predicates.")):
            # In Kafka the order of a hash table of Java.
            ignored = {"default_value", "order_in_group"}
        left = {key: value for key, value in expected.items() if key not in ignored}
        right = {key: value for key, value in ours[option].items() if key not in ignored}
        assert right == left, option


@pytest.mark.parametrize("name", [name for name in OPTIONS if name.startswith("validate")])
def test_validation_finds_what_kafka_finds(name: str, answers: dict[str, Pair]) -> None:
    (step,) = [each for each in ASKED if each.name == name]
    apache, ours = (faults(each) for each in answers[name])
    assert set(ours) == set(apache)
    for option, expected in apache.items():
        for left, right in zip(expected, ours[option], strict=True):
            assert named(step, left) <= named(step, right), (left, right)


def faults(answer: Answer) -> dict[str, list[str]]:
    values = (entry["value"] for entry in answer.json["configs"])
    return {value["name"]: value["errors"] for value in values if value["errors"]}


def test_all_of_kafkas_plugins_are_there(answers: dict[str, Pair]) -> None:
    apache, ours = (
        {(each["class"], each["type"]) for each in answer.json} for answer in answers["all plugins"]
    )
    assert apache <= ours


def test_the_answers_of_a_connectors_life_are_equal(answers: dict[str, Pair]) -> None:
    """Not only alike: but for the address of the worker, versions and words."""
    for name in (
        *("create", "create again", "create a sink", "create stopped", "info", "config"),
        *("status", "status when stopped", "status when paused", "task", "put", "patch"),
        *("info of a sink", "altered", "alter", "reset", "topics", "a sink without offsets"),
    ):
        apache, ours = (without_addresses(answer.json) for answer in answers[name])
        assert ours == apache, name


def without_addresses(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_addresses(each)
            for key, each in value.items()
            if key not in ("worker_id", "version", "message")
        }
    if isinstance(value, list):
        return [without_addresses(each) for each in value]
    return value
