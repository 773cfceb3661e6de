"""Config providers: settings such as ``${file:/etc/db.properties:password}``.

A reference is stored and answered as it was written. It is replaced only on the way to whom it is
for, and the values found are kept so that they can be blacked out of whatever comes back: traces,
messages, results of a validation, and lines of the logs of the worker and of Spark's processes.
"""

import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from moldau.config.properties import parse_properties
from moldau.connect.config.errors import ConfigError, invalid

log = logging.getLogger(__name__)

# ${provider:[path:]key}
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PREFIX: Final = "config.providers"
# A shorter value is no secret, and would be found in every other word.
_MIN_SECRET: Final = 3
# All values that this process found or was told, with their references: its log is one for all.
_logged: Final[dict[str, str]] = {}


class ConfigProvider(ABC):
    """Looks values up by path and key.

    A package offers one of its own by the entry point group ``moldau.connect.config_providers``.
    ``parameters`` are the settings ``config.providers.NAME.param.*`` without this prefix.
    """

    def __init__(self, name: str, parameters: Mapping[str, str]) -> None:
        self.name = name

    @abstractmethod
    def get(self, path: str, key: str) -> str | None:
        """The value, or None if there is none, or if it may not be read."""


class _PathProvider(ConfigProvider):
    """Reads files below ``allowed.paths``, or anywhere without it."""

    def __init__(self, name: str, parameters: Mapping[str, str]) -> None:
        super().__init__(name, parameters)
        self._allowed: list[Path] | None = None
        if parameters.get("allowed.paths", "").strip():
            self._allowed = [
                _allowed_path(name, text) for text in parameters["allowed.paths"].split(",")
            ]

    def _path(self, text: str) -> Path | None:
        path = Path(os.path.normpath(text))
        if self._allowed is not None and not any(
            path == each or each in path.parents for each in self._allowed
        ):
            log.warning(
                "Config provider %s: %s is not below the allowed.paths of the worker's settings",
                self.name,
                text,
            )
            return None
        return path


class FileConfigProvider(_PathProvider):
    """``${file:/etc/db.properties:password}``: a key in a properties file."""

    def get(self, path: str, key: str) -> str | None:
        file = self._path(path) if path else None
        if file is None:
            return None
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"The properties in {path} cannot be read: {error}") from None
        return parse_properties(text).get(key)


class DirectoryConfigProvider(_PathProvider):
    """``${directory:/run/secrets:password}``: the content of a file in a directory."""

    def get(self, path: str, key: str) -> str | None:
        directory = self._path(path) if path else None
        if directory is None:
            return None
        # The key is the name of a file there, and not a way to elsewhere.
        if not key or Path(key).name != key:
            return None
        file = directory / key
        if not file.is_file():
            return None
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"The file {file} cannot be read: {error}") from None


class EnvVarConfigProvider(ConfigProvider):
    """``${env:DB_PASSWORD}``: an environment variable whose name matches ``allowlist.pattern``."""

    def __init__(self, name: str, parameters: Mapping[str, str]) -> None:
        super().__init__(name, parameters)
        pattern = parameters.get("allowlist.pattern", ".*")
        try:
            self._allowed = re.compile(pattern)
        except re.error as error:
            option = f"{_PREFIX}.{name}.param.allowlist.pattern"
            raise invalid(option, pattern, f"not a regular expression: {error}") from None

    def get(self, path: str, key: str) -> str | None:
        if path:
            raise ConfigError(
                f"${{{self.name}:{path}:{key}}} has a path, which environment variables do not: "
                f"write ${{{self.name}:{key}}}"
            )
        return os.environ.get(key) if self._allowed.fullmatch(key) else None


_PACKAGE: Final = "org.apache.kafka.common.config.provider."
PROVIDERS: Final[Mapping[str, type[ConfigProvider]]] = {
    f"{_PACKAGE}{each.__name__}": each
    for each in (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)
}


class Resolved(NamedTuple):
    """A configuration with its references replaced, and what they stand for, by value."""

    config: dict[str, str]
    secrets: dict[str, str]

    def hide(self, text: str) -> str:
        """``text`` with each value that came from a provider replaced by its reference."""
        # A longer value may contain a shorter one.
        for value in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(value, self.secrets[value])
        return text


class HidingFormatter(logging.Formatter):
    """Lines of a log without values of providers, whoever logs: connectors and libraries too."""

    def format(self, record: logging.LogRecord) -> str:
        return hidden(super().format(record))


def keep_hidden(secrets: Mapping[str, str]) -> None:
    """Values with their references, which ``hidden`` and the log of this process leave out."""
    _logged.update(secrets)


def hidden(text: str) -> str:
    """``text`` without any value of a provider that this process knows."""
    return Resolved({}, dict(_logged)).hide(text)


def hidden_so_far(text: str) -> tuple[str, str]:
    """As ``hidden``, for a text that goes on; what may be the beginning of a value comes second."""
    values = [value for value in list(_logged) if value]
    end = min((_begin_of(value, text) for value in values), default=len(text))
    moves = True
    while moves:
        # A whole value that reaches into the rest is not cut in two.
        moves = False
        for value in values:
            begin = text.find(value, max(end - len(value) + 1, 0), end + len(value) - 1)
            if -1 < begin < end:
                end, moves = begin, True
    return hidden(text[:end]), text[end:]


def _begin_of(value: str, text: str) -> int:
    """Where ``text`` ends with a beginning of ``value``, short of all of it; or else its end."""
    begin = max(len(text) - len(value) + 1, 0)
    while (begin := text.find(value[0], begin)) != -1:
        if value.startswith(text[begin:]):
            return begin
        begin += 1
    return len(text)


class Providers:
    """The config providers of a worker."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = dict(providers)

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> "Providers":
        """Those that ``config.providers`` names.

        Raises:
            ConfigError: a provider has no class, or one that does not exist here.
        """
        names = [name.strip() for name in settings.get(_PREFIX, "").split(",")]
        made = {}
        for name in filter(None, names):
            setting = f"{_PREFIX}.{name}.class"
            prefix = f"{_PREFIX}.{name}.param."
            parameters = {
                each.removeprefix(prefix): value
                for each, value in settings.items()
                if each.startswith(prefix)
            }
            made[name] = _class(setting, settings.get(setting))(name, parameters)
        return cls(made)

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """Replace all references to providers that exist; others are left as they are.

        Raises:
            ConfigError: a file cannot be read. The message has no secret.
        """
        secrets: dict[str, str] = {}

        def value_of(reference: re.Match[str]) -> str:
            provider = self._providers.get(reference[1])
            if provider is None:
                return reference[0]
            found = provider.get(reference[2] or "", reference[3])
            if found is None:
                log.warning("Nothing was found for %s: it is used as it is", reference[0])
                return reference[0]
            if len(found.strip()) >= _MIN_SECRET:
                secrets[found] = secrets[found.strip()] = reference[0]
            return found

        replaced = {
            name: value if value is None else _REFERENCE.sub(value_of, value)
            for name, value in config.items()
        }
        keep_hidden(secrets)
        return Resolved(replaced, secrets)

    @property
    def names(self) -> Iterable[str]:
        return self._providers


def _class(setting: str, name: str | None) -> type[ConfigProvider]:
    if name is None:
        raise ConfigError(f"{setting} is required: name the class of a config provider")
    for full, found in PROVIDERS.items():
        if name in (full, found.__name__):
            return found
    # One that an installed package offers. Looking for those takes time, so only if it must be.
    from moldau.connect.plugins import Plugins

    try:
        offered = Plugins().config_provider(name)
    except ConfigError:
        offered = None
    if isinstance(offered, type) and issubclass(offered, ConfigProvider):
        return offered
    known = ", ".join(PROVIDERS)
    raise invalid(setting, name, f"choose from {known}")


def _allowed_path(name: str, text: str) -> Path:
    path = Path(text.strip())
    if not path.is_absolute() or not path.exists():
        problem = "does not exist" if path.is_absolute() else "is not absolute"
        raise invalid(f"{_PREFIX}.{name}.param.allowed.paths", text, f"the path {problem}")
    return Path(os.path.normpath(path))
