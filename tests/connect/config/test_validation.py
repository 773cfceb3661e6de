"""All that is wrong with a connector's config, at once."""

from typing import Any

import pytest

from moldau.connect.config.validation import plugin_options, problems_text, validate
from moldau.connect.rest_errors import BadRequestError
from tests.connect.config.connectors import WORKER, plugins

SOURCE = {"name": "a", "connector.class": "Lines", "topic": "t"}
SINK = {"name": "a", "connector.class": "Print", "topics": "t"}
JSON = "org.apache.kafka.connect.json.JsonConverter"


def check(base: dict[str, str], **changes: str | None) -> dict[str, Any]:
    config = {**base, **{name.replace("__", "."): value for name, value in changes.items()}}
    return validate(config, plugins(), WORKER)


def checked(base: dict[str, str], changes: dict[str, str | None]) -> dict[str, list[str]]:
    result = validate({**base, **changes}, plugins(), WORKER)
    found = {each["value"]["name"]: each["value"]["errors"] for each in result["configs"]}
    assert result["error_count"] == sum(map(len, found.values()))
    return {name: errors for name, errors in found.items() if errors}


def entry(result: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (each for each in result["configs"] if each["value"]["name"] == name)
    return found


def test_a_valid_source_has_no_errors_and_kafkas_groups() -> None:
    result = check(SOURCE)
    assert (result["name"], result["error_count"]) == ("Lines", 0)
    assert problems_text(result) is None
    assert result["groups"][:7] == [
        *("Common", "Transforms", "Predicates", "Error Handling"),
        *("Topic Creation", "Exactly Once Support", "offsets.topic"),
    ]
    assert entry(result, "key.converter")["value"]["value"] == JSON
    assert entry(result, "connector.plugin.version")["definition"]["default_value"] == "1.0"


def test_several_errors_are_reported_together() -> None:
    errors = checked(
        SINK,
        {
            "topics.regex": "t.*",
            "tasks.max": "0",
            "errors.tolerance": "some",
            "config.action.reload": "later",
            "value.converter": "org.apache.kafka.connect.json.JsonConvertor",
            "transforms": "b,c",
            "transforms.b.type": "test.Tga",
            "name": "",
        },
    )
    assert errors["tasks.max"] == ["tasks.max cannot be 0: it must not be less than 1"]
    both = "Remove topics or topics.regex: a sink takes one of them, not both"
    assert errors["topics"] == errors["topics.regex"] == [both]
    assert errors["errors.tolerance"] == ["errors.tolerance cannot be some: choose from none, all"]
    assert errors["value.converter"] == [
        "value.converter cannot be org.apache.kafka.connect.json.JsonConvertor: There is no class "
        f"org.apache.kafka.connect.json.JsonConvertor. Did you mean {JSON}?"
    ]
    assert "Did you mean test.Tag?" in errors["transforms.b.type"][0]
    assert errors["transforms.c.type"] == [
        "transforms.c.type is required: set it, for it has no default"
    ]
    assert set(errors) == {
        *("topics", "topics.regex", "tasks.max", "errors.tolerance", "config.action.reload"),
        *("value.converter", "transforms.b.type", "transforms.c.type", "name"),
    }


def test_a_sink_needs_topics_one_way_or_the_other() -> None:
    one = "Set topics or topics.regex: a sink reads topics"
    assert checked(SINK, {"topics": ""}) == {"topics": [one], "topics.regex": [one]}
    assert checked(SINK, {"topics": "", "topics.regex": "t.+"}) == {}
    wrong = checked(SINK, {"topics": "", "topics.regex": "("})["topics.regex"][0]
    assert wrong.startswith("topics.regex cannot be (: not a regular expression")


def test_dead_letters_must_not_be_read_again() -> None:
    dead: dict[str, str | None] = {"errors.deadletterqueue.topic.name": "t"}
    assert "topic.name=t is one of topics=t" in checked(SINK, dead)["topics"][0]
    errors = checked(SINK, {**dead, "topics": "", "topics.regex": "[s-u]"})
    assert "topic.name=t matches topics.regex=[s-u]" in errors["topics.regex"][0]
    assert checked(SINK, {"errors.deadletterqueue.topic.name": "t2"}) == {}


def test_options_of_transforms_and_predicates_are_checked() -> None:
    base = {
        "transforms": "a",
        "transforms.a.type": "test.Tag",
        "transforms.a.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "test.IsLong",
    }
    errors = checked(SOURCE, {**base, "transforms.a.times": "0", "predicates.p.length": "x"})
    assert errors == {
        "transforms.a.text": ["transforms.a.text is required: set it, for it has no default"],
        "transforms.a.times": ["times cannot be 0: it must not be less than 1"],
        "predicates.p.length": [
            "predicates.p.length cannot be x: it must be an integer of 32 bits (INT)"
        ],
    }
    good = {**base, "transforms.a.text": "x", "predicates.p.length": "3"}
    result = validate({**SOURCE, **good}, plugins(), WORKER)
    assert result["error_count"] == 0
    shown = entry(result, "transforms.a.text")["definition"]
    assert (shown["group"], shown["required"]) == ("Transforms: a", True)
    assert entry(result, "transforms.a.type")["definition"]["order_in_group"] == 0


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        (
            {"transforms.a.negate": "true"},
            "transforms.a.type",
            "transforms.a.negate is set without transforms.a.predicate",
        ),
        (
            {"transforms.a.predicate": "q"},
            "transforms.a.predicate",
            "cannot be q: no such predicate, predicates is empty",
        ),
        ({"transforms.a.text": "both"}, "transforms", "Only one of text and other"),
        ({"transforms.a.plugin.version": "2.0"}, "transforms.a.plugin.version", "[2.0,2.0]"),
        (
            {"transforms": "a,a"},
            "transforms",
            "transforms cannot be [a, a]: remove one of the two a",
        ),
        ({"transforms.a.tiems": "3"}, "transforms.a.tiems", "Did you mean transforms.a.times?"),
    ],
)
def test_a_transform_is_checked_as_a_whole(
    changes: dict[str, str | None], name: str, message: str
) -> None:
    base = {"transforms": "a", "transforms.a.type": "test.Tag", "transforms.a.text": "x"}
    assert message in checked(SOURCE, {**base, **changes})[name][0]


def test_options_of_a_named_converter_are_checked_below_its_prefix() -> None:
    errors = checked(
        SOURCE, {"value.converter": "JsonConverter", "value.converter.schemas.enable": "maybe"}
    )
    assert errors == {
        "value.converter.schemas.enable": [
            "schemas.enable cannot be maybe: it must be true or false"
        ]
    }
    # Without a converter of its own, a connector cannot change the worker's (as in Kafka).
    assert checked(SOURCE, {"value.converter.schemas.enable": "maybe"}) == {}


def test_unknown_options_are_accepted_unless_they_look_misspelt() -> None:
    assert checked(SOURCE, {"note": "mine", "producer.override.acks": "1"}) == {}
    assert checked(SOURCE, {"fiel": "/a"}) == {
        "fiel": ["Unknown configuration fiel. Did you mean file?"]
    }
    # The option it resembles is set: so it is something else.
    assert checked(SOURCE, {"fiel": "/a", "file": "/b"}) == {}
    assert checked(SOURCE, {"moldau.triger.ms": "5"}) == {
        "moldau.triger.ms": [
            "Unknown configuration moldau.triger.ms. Did you mean moldau.trigger.ms?"
        ]
    }


def test_the_connector_is_asked_only_when_each_option_is_valid() -> None:
    assert checked(SOURCE, {"file": "/gone"}) == {
        "file": ["/gone does not exist: create it"],
        "x": ["y"],
    }
    assert "file" not in checked(SOURCE, {"file": "/gone", "batch.size": "0"})


def test_a_connector_that_cannot_validate_is_an_error_and_no_exception() -> None:
    assert checked(SOURCE, {"file": "/broken"}) == {
        "connector.class": ["The connector could not validate its configuration: the disk is gone"]
    }


def test_a_class_that_cannot_be_imported_is_an_error_of_its_option() -> None:
    errors = checked(SOURCE, {"transforms": "a", "transforms.a.type": "test.Broken"})
    assert "Install 'no_such_library'" in errors["transforms.a.type"][0]


def test_a_null_is_no_value() -> None:
    assert "null is not a value: leave the option out" in checked(SOURCE, {"file": None})["file"]


def test_exactly_once_needs_a_worker_that_allows_it() -> None:
    required: dict[str, str | None] = {"exactly.once.support": "required"}
    assert checked(SOURCE, required) == {
        "exactly.once.support": [
            "This worker has exactly.once.source.support=disabled: enable it there"
        ]
    }
    worker = {**WORKER, "exactly.once.source.support": "enabled"}
    assert validate({**SOURCE, **required}, plugins(), worker)["error_count"] == 0
    errors = checked(SOURCE, {"transaction.boundary": "connector"})
    assert "set transaction.boundary to poll or interval" in errors["transaction.boundary"][0]


def test_groups_of_topics_to_create_are_checked() -> None:
    errors = checked(
        SOURCE,
        {
            "topic.creation.default.partitions": "0",
            "topic.creation.groups": "g",
            "topic.creation.g.include": "[",
            "topic.creation.g.cleanup.policy": "compact",
        },
    )
    assert set(errors) == {
        "topic.creation.default.partitions",
        "topic.creation.default.replication.factor",
        "topic.creation.g.include",
    }


@pytest.mark.parametrize(
    ("policy", "setting", "is_allowed"),
    [
        ("All", "acks", True),
        ("None", "acks", False),
        ("Principal", "acks", False),
        ("Principal", "sasl.mechanism", True),
        ("Allowlist", "acks", True),
        ("Allowlist", "linger.ms", False),
        ("org.x.NoneConnectorClientConfigOverridePolicy", "acks", False),
    ],
)
def test_the_worker_decides_which_client_settings_may_be_overridden(
    policy: str, setting: str, is_allowed: bool
) -> None:
    worker = {
        **WORKER,
        "connector.client.config.override.policy": policy,
        "connector.client.config.override.allowlist": "acks, retries",
    }
    result = validate({**SOURCE, f"producer.override.{setting}": "1"}, plugins(), worker)
    assert (result["error_count"] == 0) is is_allowed


def test_a_sinks_group_must_not_be_that_of_the_workers() -> None:
    worker = {**WORKER, "group.id": "connect-a"}
    text = problems_text(validate(SINK, plugins(), worker)) or ""
    assert "The sink a would consume as connect-a, the group of the workers" in text


def test_a_group_has_a_name() -> None:
    text = problems_text(check(SINK, consumer__override__group__id=" ")) or ""
    assert "consumer.override.group.id is empty: name a group" in text


def test_a_refused_config_is_answered_with_all_errors() -> None:
    text = problems_text(check(SOURCE, tasks__max="0", errors__tolerance="x")) or ""
    assert "has 2 error(s):\ntasks.max cannot be 0" in text
    assert "errors.tolerance cannot be x" in text
    assert "/config/validate" in text


def test_no_class_or_an_unknown_one_is_a_bad_request() -> None:
    with pytest.raises(BadRequestError, match=r"connector\.class is missing"):
        validate({"name": "a"}, plugins(), WORKER)
    with pytest.raises(BadRequestError, match="Did you mean Lines") as caught:
        validate({**SOURCE, "connector.class": "Linse"}, plugins(), WORKER)
    assert caught.value.status == 400
    with pytest.raises(BadRequestError, match=r"\[1 is not a range of versions"):
        validate({**SOURCE, "connector.plugin.version": "[1"}, plugins(), WORKER)


def test_another_version_of_a_connector_is_an_error_of_two_options() -> None:
    errors = checked(SOURCE, {"connector.plugin.version": "2.0"})
    assert set(errors) == {"connector.class", "connector.plugin.version"}
    assert "has version 1.0, which is not in [2.0,2.0]" in errors["connector.class"][0]


def test_a_password_is_hidden_in_values_and_errors() -> None:
    assert "sesame" not in str(check(SOURCE, password="sesame"))


def test_the_options_of_a_plugin_begin_with_its_own() -> None:
    names = [each["name"] for each in plugin_options(plugins(), "Lines", None)]
    assert names[:5] == ["file", "topic", "batch.size", "password", "name"]
    assert "exactly.once.support" in names
    assert len(names) == len(set(names))
    sink = [each["name"] for each in plugin_options(plugins(), "Print", None)]
    assert {"topics", "topics.regex"} <= set(sink)
    assert [each["name"] for each in plugin_options(plugins(), "test.Tag", None)] == [
        *("text", "times")
    ]
