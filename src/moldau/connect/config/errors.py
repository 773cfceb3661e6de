"""The error of a configuration that cannot be used."""

from typing import Any

from moldau.connect.data.errors import ConnectError


class ConfigError(ConnectError):
    """A configuration is wrong; the message names the option, its value and what is allowed."""

    java_class = "org.apache.kafka.common.config.ConfigException"
    # The option that is wrong, where it is a single one.
    option: str | None = None


def missing(name: str) -> ConfigError:
    """What to raise for a required option that is not set."""
    return _about(name, f"{name} is required: set it, for it has no default")


def invalid(name: str, value: Any, reason: str | None = None) -> ConfigError:
    """What to raise for a value that an option does not take."""
    text = "null" if value is None else value if value != "" else "empty"
    suffix = f": {reason}" if reason else ""
    return _about(name, f"{name} cannot be {text}{suffix}")


def _about(option: str, message: str) -> ConfigError:
    error = ConfigError(message)
    error.option = option
    return error
