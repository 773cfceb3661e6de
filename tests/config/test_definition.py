"""Types, ranges and texts of single settings."""

import pytest

from moldau.config.broker import BROKER_SETTINGS
from moldau.config.definition import ConfigError, SettingType, parse_value, to_text
from moldau.config.topic import TOPIC_SETTINGS


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("message.max.bytes", " 5 ", 5),
        ("log.cleanup.policy", "compact, delete", ("compact", "delete")),
        ("log.cleanup.policy", "", ()),
        ("log.cleanup.policy", "delete,delete", ("delete",)),
        ("log.preallocate", "TRUE", True),
        ("log.cleaner.min.cleanable.ratio", "1", 1.0),
        ("compression.gzip.level", "-1", -1),
        ("group.consumer.migration.policy", "Upgrade", "Upgrade"),
    ],
)
def test_a_value_is_parsed_by_its_type(name: str, text: str, value: object) -> None:
    assert BROKER_SETTINGS[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("message.max.bytes", "x", "Not a number of type INT"),
        ("message.max.bytes", "1_000", "Not a number of type INT"),
        ("message.max.bytes", "2147483648", "Not a number of type INT"),
        ("message.max.bytes", "-1", "Value must be at least 0"),
        ("log.retention.bytes", "9223372036854775808", "Not a number of type LONG"),
        ("offsets.topic.replication.factor", "32768", "Not a number of type SHORT"),
        ("log.cleaner.min.cleanable.ratio", "1.5", "Value must be no more than 1"),
        ("log.cleaner.min.cleanable.ratio", "-0.5", "Value must be at least 0"),
        ("log.cleaner.min.cleanable.ratio", "NaN", "Value must be between 0 and 1"),
        ("log.cleaner.min.cleanable.ratio", "Infinity", "Value must be no more than 1"),
        ("log.cleaner.min.cleanable.ratio", "0_1", "Not a number of type DOUBLE"),
        ("compression.gzip.level", "0", "Value must be -1 or between 1 and 9"),
        ("log.preallocate", "1", "Expected value to be either true or false"),
        ("compression.type", "GZIP", "String must be one of: uncompressed, zstd"),
        ("log.cleanup.policy", "delete,burn", "String must be one of: compact, delete"),
        ("listeners", "", "must not be empty"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BROKER_SETTINGS[name].parse(text)
    assert name in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", ["", "*", "0:1", "0:1,1:2"])
def test_throttled_replicas_are_pairs_or_a_star(text: str) -> None:
    TOPIC_SETTINGS["leader.replication.throttled.replicas"].parse(text)


@pytest.mark.parametrize("text", ["0", "a:b", "*,0:1", "0:1,"])
def test_other_throttled_replicas_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="partition:broker"):
        TOPIC_SETTINGS["leader.replication.throttled.replicas"].parse(text)


@pytest.mark.parametrize("settings", [BROKER_SETTINGS, TOPIC_SETTINGS])
def test_every_default_is_allowed_and_reads_back(settings: dict[str, object]) -> None:
    for setting in (BROKER_SETTINGS if settings is BROKER_SETTINGS else TOPIC_SETTINGS).values():
        if setting.default is None or setting.is_required:
            continue
        assert to_text(setting.parse(setting.default)) == setting.default, setting.name


def test_every_setting_says_what_it_means() -> None:
    for setting in [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()]:
        assert len(setting.doc) > 10, setting.name
        assert setting.doc.endswith("."), setting.name


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (1e-3, "0.001"),
        (1e-4, "1.0E-4"),
        (12345678.0, "1.2345678E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_doubles_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert to_text(number) == text


def test_a_password_keeps_its_spaces() -> None:
    assert parse_value("ssl.key.password", SettingType.PASSWORD, " x ") == " x "
