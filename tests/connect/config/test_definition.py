"""Options: parsing, validation and their JSON, with messages that say what would be right."""

from typing import Any

import pytest

from moldau.connect.config.definition import (
    ConfigDef,
    ConfigError,
    Importance,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Password,
    Range,
    Type,
    ValidList,
    ValidString,
    Width,
    nearest,
)

DEFINITION = (
    ConfigDef()
    .define("file", Type.STRING, importance=Importance.HIGH, doc="The file.")
    .define("batch.size", Type.INT, 2000, Range(1, 10_000), group="Reading", order=3)
    .define("mode", Type.STRING, "fast", ValidString("fast", "safe"))
    .define("topics", Type.LIST, "", ValidList())
    .define("secret", Type.PASSWORD, None)
    .define("on", Type.BOOLEAN, "true")
)


def test_text_is_parsed_and_defaults_fill_the_rest() -> None:
    parsed = DEFINITION.parse({"file": " /tmp/a ", "topics": "a , b", "other": "x", "on": "FALSE"})
    assert parsed == {
        "file": "/tmp/a",
        "batch.size": 2000,
        "mode": "fast",
        "topics": ["a", "b"],
        "secret": None,
        "on": False,
    }


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "file is required: set it, for it has no default"),
        (
            {"file": "a", "batch.size": "many"},
            "batch.size cannot be many: it must be an integer of 32 bits (INT)",
        ),
        (
            {"file": "a", "batch.size": "3000000000"},
            "batch.size cannot be 3000000000: it must be an integer of 32 bits (INT)",
        ),
        (
            {"file": "a", "batch.size": "0"},
            "batch.size cannot be 0: it must not be less than 1",
        ),
        (
            {"file": "a", "batch.size": "10001"},
            "batch.size cannot be 10001: it must not be more than 10000",
        ),
        (
            {"file": "a", "mode": "slow"},
            "mode cannot be slow: choose from fast, safe",
        ),
        (
            {"file": "a", "on": "yes"},
            "on cannot be yes: it must be true or false",
        ),
        ({"file": "a", "topics": "a,,b"}, "topics has an empty entry: remove a comma"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DEFINITION.parse(config)
    assert str(caught.value) == message
    assert caught.value.option == (None if "topics" in config else message.split()[0])


def test_validation_reports_all_problems_at_once() -> None:
    values = DEFINITION.validate({"batch.size": "x", "mode": "y"})
    errors = {value.name: value.errors for value in values if value.errors}
    assert list(errors) == ["file", "batch.size", "mode"]
    # Kafka's validator sees that there is no value, and says so as well.
    assert errors["batch.size"] == [
        "batch.size cannot be x: it must be an integer of 32 bits (INT)",
        "batch.size cannot be null: give a number",
    ]


def test_a_password_is_never_printed() -> None:
    parsed = DEFINITION.parse({"file": "a", "secret": "moon"})
    assert parsed["secret"] == Password("moon")
    assert "moon" not in f"{parsed} {parsed['secret']}"
    shown = {value.name: value.to_json() for value in DEFINITION.validate({"secret": "moon"})}
    assert shown["secret"]["value"] == "[hidden]"


def test_the_json_of_an_option_is_kafkas() -> None:
    definition = ConfigDef().define(
        "tasks.max",
        Type.INT,
        1,
        Range(1),
        Importance.HIGH,
        "Tasks.",
        "Common",
        4,
        Width.SHORT,
        "Tasks max",
        ["b"],
    )
    assert definition.to_json() == [
        {
            "name": "tasks.max",
            "type": "INT",
            "required": False,
            "default_value": "1",
            "importance": "HIGH",
            "documentation": "Tasks.",
            "group": "Common",
            "order_in_group": 4,
            "width": "SHORT",
            "display_name": "Tasks max",
            "dependents": ["b"],
        }
    ]


def test_a_recommender_sees_the_parsed_values() -> None:
    def tables(name: str, parsed: Any) -> list[str]:
        if parsed["url"] is None:
            raise ConfigError("no url")
        return [f"{parsed['url']}/{name}"]

    definition = (
        ConfigDef()
        .define("url", Type.STRING, None)
        .define("t", Type.STRING, "", recommender=tables)
    )
    assert definition.validate({"url": "u"})[1].recommended_values == ["u/t"]
    assert definition.validate({})[1].errors == ["no url"]


def test_unknown_options_come_with_the_nearest_name() -> None:
    assert DEFINITION.unknown({"fiel": "a", "zzz": "b"}) == {"fiel": "file", "zzz": None}
    assert nearest("batchsize", DEFINITION.names) == "batch.size"


def test_a_definition_cannot_contradict_itself() -> None:
    with pytest.raises(ConfigError, match="option a is defined already"):
        ConfigDef().define("a", Type.INT).define("a", Type.INT)
    with pytest.raises(ConfigError, match="a cannot be 0: it must not be less than 1"):
        ConfigDef().define("a", Type.INT, 0, Range(1))


def test_strings_that_must_not_be_empty_or_hold_control_characters() -> None:
    NonEmptyString()("a", None)
    with pytest.raises(ConfigError, match="a cannot be empty"):
        NonEmptyString()("a", "")
    check = NonEmptyStringWithoutControlChars()
    check("name", "Größe/🙂 x")
    with pytest.raises(ConfigError, match="name cannot be empty"):
        check("name", "")
    with pytest.raises(ConfigError, match=r"control characters .*7, 10"):
        check("name", "a\a\n")
