"""Headers that the worker's settings add to every response.

``response.http.headers.config`` has rules such as ``add X-Frame-Options:DENY``, with commas between
them and double quotes around a rule that has a comma itself; ``access.control.allow.origin`` and
``.methods`` let pages of other origins use the API (CORS).
"""

import csv
import fnmatch
from collections.abc import Mapping
from email.utils import formatdate
from typing import Final, NamedTuple

from moldau.clock import Clock
from moldau.connect.config.errors import ConfigError
from moldau.connect.rest.messages import Request

SETTING: Final = "response.http.headers.config"
_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_DEFAULT_METHODS: Final = "GET,POST,HEAD"


class Rule(NamedTuple):
    """A header; ``offset_ms`` is set for a date, which lies so far from now."""

    name: str
    value: str
    offset_ms: int | None = None


def parse_rules(text: str) -> list[Rule]:
    """The rules of ``response.http.headers.config``. Raises ConfigError for one that is none."""
    if not text.strip():
        return []
    (entries,) = csv.reader([text.strip()], skipinitialspace=True)
    return [_rule(entry) for entry in entries]


def _rule(text: str) -> Rule:
    action, _, header = text.strip().partition(" ")
    if not header.strip():
        raise ConfigError(
            f"{SETTING} has {text!r}: write an action and a header, such as set Name:value"
        )
    if action.lower() not in [each.lower() for each in _ACTIONS]:
        raise ConfigError(f"{SETTING} has the action {action}: choose from {', '.join(_ACTIONS)}")
    name, colon, value = header.strip().partition(":")
    name, value = name.strip(), value.strip()
    if not colon or ":" in value:
        raise ConfigError(
            f"{SETTING} has the header {header!r}: write it with one colon, as Name:value"
        )
    if not name or any(character.isspace() for character in name):
        raise ConfigError(f"{SETTING} has the header name {name!r}: it must be one word")
    if not action.lower().endswith("date"):
        return Rule(name, value)
    try:
        return Rule(name, value, int(value))
    except ValueError:
        raise ConfigError(
            f"{SETTING} has {text!r}: the value of {action} is a number of milliseconds"
        ) from None


class ResponseHeaders:
    """The headers for the responses of one worker."""

    def __init__(self, settings: Mapping[str, str], clock: Clock) -> None:
        self._rules = parse_rules(settings.get(SETTING) or "")
        origins = (settings.get("access.control.allow.origin") or "").split(",")
        self._origins = [origin.strip() for origin in origins if origin.strip()]
        methods = (settings.get("access.control.allow.methods") or "").strip()
        self._methods = methods or _DEFAULT_METHODS
        self._clock = clock

    def for_response(self, request: Request) -> list[tuple[str, str]]:
        """The headers to add to the response to ``request``."""
        return [*map(self._header, self._rules), *self._cross_origin(request)]

    def _header(self, rule: Rule) -> tuple[str, str]:
        if rule.offset_ms is None:
            return rule.name, rule.value
        moment_ms = self._clock.wall_ms() + rule.offset_ms
        return rule.name, formatdate(moment_ms / 1000, usegmt=True)

    def _cross_origin(self, request: Request) -> list[tuple[str, str]]:
        origin = request.headers.get("origin")
        if not origin or not any(fnmatch.fnmatch(origin, each) for each in self._origins):
            return []
        headers = [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
        if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
            headers.append(("Access-Control-Allow-Methods", self._methods))
            wanted = request.headers.get("access-control-request-headers", "Content-Type")
            headers.append(("Access-Control-Allow-Headers", wanted))
        return headers
