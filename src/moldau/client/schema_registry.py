"""A client of a schema registry that speaks Confluent's REST API.

A registry gives every schema an id, and records carry that id instead of the schema. Ids never
change their meaning, so each is asked for once and kept. Several URLs are tried in turn: when one
cannot be reached, the next one answers.

Settings have the names of Confluent's serializers: ``schema.registry.url``,
``basic.auth.credentials.source``, ``basic.auth.user.info``, ``bearer.auth.token``,
``schema.registry.ssl.truststore.location`` and so on; see ``from_config``. Credentials appear in no
error.
"""

import base64
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_MAX_ANSWER_BYTES: Final = 64 << 20
_TIMEOUT_S: Final = 30.0
# Too many requests, and a gateway that has no server behind it for now.
_RETRIABLE_STATUSES: Final = frozenset((408, 429, 500, 502, 503, 504))


class SchemaRegistryError(Exception):
    """A registry refused a request, could not be reached, or is configured wrongly.

    ``status`` is that of HTTP, 0 without an answer; ``error_code`` is the registry's own, such as
    40401 for an unknown subject. ``is_retriable`` says that the same request may succeed later.
    """

    def __init__(
        self, message: str, status: int = 0, error_code: int = 0, is_retriable: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code
        self.is_retriable = is_retriable


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry has it; ``type`` is AVRO, JSON or PROTOBUF."""

    id: int
    text: str
    type: str = "AVRO"
    version: int | None = None
    references: tuple[tuple[str, str, int], ...] = ()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Credentials are for the registry that was named, not for one that it points to."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


class SchemaRegistry:
    """Registers schemas, and finds them by id or subject. Can be used by several threads."""

    def __init__(
        self,
        urls: list[str],
        *,
        authorization: str | None = None,
        context: ssl.SSLContext | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """``authorization`` is the value of that header, such as ``Bearer`` and a token.

        Raises:
            SchemaRegistryError: if there is no URL, or one that is not HTTP.
        """
        self._urls = [_checked(url) for url in urls if url.strip()]
        if not self._urls:
            raise SchemaRegistryError("schema.registry.url is empty: name at least one registry")
        self._authorization = authorization
        handler = urllib.request.HTTPSHandler(context=context)
        self._opener = urllib.request.build_opener(handler, _NoRedirects)
        self._timeout_s = timeout_s
        self._by_id: dict[int, RegisteredSchema] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._versions: dict[tuple[str, str], int | None] = {}

    @classmethod
    def from_config(cls, config: Mapping[str, str]) -> "SchemaRegistry":
        """A client with the settings of a serializer or a converter.

        Raises:
            SchemaRegistryError: if a setting is missing or has a value that it cannot have.
        """
        url = config.get("schema.registry.url", "")
        urls = [each.strip() for each in url.split(",")]
        return cls(
            [_without_user(each) for each in urls],
            authorization=_authorization(config, urls),
            context=_tls_context(config),
        )

    def schema(self, schema_id: int) -> RegisteredSchema:
        """The schema with this id.

        Raises:
            SchemaRegistryError: if there is none, or the registry does not answer.
        """
        found = self._by_id.get(schema_id)
        if found is None:
            answer = self._request("GET", f"/schemas/ids/{schema_id}")
            found = self._by_id[schema_id] = _registered(schema_id, answer)
        return found

    def register(self, subject: str, text: str, type: str = "AVRO") -> int:
        """Register a schema under ``subject`` if it is not there yet, and give its id.

        Raises:
            SchemaRegistryError: if it is not compatible with the subject's earlier ones.
        """
        key = subject, text
        found = self._ids.get(key)
        if found is None:
            path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
            answer = self._request("POST", path, _body(text, type))
            found = self._ids[key] = int(answer["id"])
        return found

    def lookup(self, subject: str, text: str, type: str = "AVRO") -> RegisteredSchema:
        """The id and the version of a schema that is registered under ``subject`` already."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}"
        answer = self._request("POST", path, _body(text, type))
        found = _registered(int(answer["id"]), answer)
        self._ids[subject, text] = found.id
        return found

    def id_of(self, subject: str, text: str, type: str = "AVRO") -> int:
        """The id of a schema that is registered under ``subject``, asked for once."""
        found = self._ids.get((subject, text))
        return self.lookup(subject, text, type).id if found is None else found

    def version_of(self, subject: str, text: str, type: str = "AVRO") -> int | None:
        """The version of a schema within ``subject``; None if it is not registered there."""
        key = subject, text
        if key not in self._versions:
            try:
                self._versions[key] = self.lookup(subject, text, type).version
            except SchemaRegistryError as error:
                if error.status != 404:
                    raise
                self._versions[key] = None
        return self._versions[key]

    def latest(self, subject: str) -> RegisteredSchema:
        """The latest schema of a subject, asked for each time."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/latest"
        answer = self._request("GET", path)
        return _registered(int(answer["id"]), answer)

    def version(self, subject: str, version: int) -> RegisteredSchema:
        """The schema of one version of a subject, such as one that another schema refers to."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/{version}"
        answer = self._request("GET", path)
        return _registered(int(answer["id"]), answer)

    def subjects(self) -> list[str]:
        answer: Any = self._request("GET", "/subjects")
        return [str(each) for each in answer]

    def _request(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """The answer of the first registry that can be reached, which is then asked first."""
        unreachable = ""
        for url in list(self._urls):
            try:
                answer = self._send(url, method, path, body)
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise _refusal(url, method, path, error) from None
                reason = getattr(error, "reason", error)
                unreachable = f"schema registry {url} cannot be reached: {reason}"
                continue
            self._urls.sort(key=lambda each: each != url)
            return answer
        raise SchemaRegistryError(unreachable, is_retriable=True)

    def _send(self, url: str, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        request = urllib.request.Request(url + path, body, method=method)
        request.add_header("Accept", _CONTENT_TYPE)
        if body is not None:
            request.add_header("Content-Type", _CONTENT_TYPE)
        if self._authorization is not None:
            request.add_header("Authorization", self._authorization)
        with self._opener.open(request, timeout=self._timeout_s) as response:
            data = response.read(_MAX_ANSWER_BYTES)
        try:
            answer: dict[str, Any] = json.loads(data)
        except ValueError:
            message = f"schema registry {url} answered {method} {path} with what is not JSON"
            raise SchemaRegistryError(f"{message}: {data[:100]!r}") from None
        return answer


def _checked(url: str) -> str:
    parts = urllib.parse.urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = _without_user(url.strip())
        message = f"schema.registry.url {shown!r} is not a URL such as http://localhost:8081"
        raise SchemaRegistryError(message)
    return url.strip().rstrip("/")


def _without_user(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _authorization(config: Mapping[str, str], urls: list[str]) -> str | None:
    """The value of the header Authorization that the settings ask for."""

    def setting(name: str) -> str | None:
        return config.get(name) or config.get(f"schema.registry.{name}")

    token = setting("bearer.auth.token")
    if token:
        return f"Bearer {token}"
    source = (setting("basic.auth.credentials.source") or "URL").upper()
    if source == "USER_INFO":
        user = setting("basic.auth.user.info")
        if not user or ":" not in user:
            message = "basic.auth.user.info must be a user and a password: user:password"
            raise SchemaRegistryError(message)
    elif source == "URL":
        parts = urllib.parse.urlsplit(urls[0])
        if parts.username is None:
            return None
        user = urllib.parse.unquote(f"{parts.username}:{parts.password or ''}")
    else:
        message = f"basic.auth.credentials.source {source} is not supported: use URL or USER_INFO"
        raise SchemaRegistryError(message)
    return "Basic " + base64.b64encode(user.encode()).decode()


def _tls_context(config: Mapping[str, str]) -> ssl.SSLContext | None:
    """TLS with the certificates of a PEM trust store; None for those of the system."""
    prefix = "schema.registry.ssl.truststore."
    inline = config.get(prefix + "certificates")
    location = config.get(prefix + "location")
    if not inline and not location:
        return None
    kind = config.get(prefix + "type", "PEM" if inline else "JKS").upper()
    if kind != "PEM":
        message = f"{prefix}type {kind} is not supported: convert the trust store to PEM"
        raise SchemaRegistryError(message)
    try:
        text = inline or Path(location or "").read_text()
        return ssl.create_default_context(cadata=text)
    except (OSError, ssl.SSLError, ValueError) as error:
        message = f"the trust store of the schema registry cannot be used: {error}"
        raise SchemaRegistryError(message) from error


def _body(text: str, type: str) -> bytes:
    # A registry takes a schema without a type for Avro; older ones know no other.
    return json.dumps({"schema": text} | ({} if type == "AVRO" else {"schemaType": type})).encode()


def _registered(schema_id: int, answer: Mapping[str, Any]) -> RegisteredSchema:
    references = tuple(
        (each["name"], each["subject"], each["version"]) for each in answer.get("references") or ()
    )
    return RegisteredSchema(
        schema_id,
        answer.get("schema", ""),
        answer.get("schemaType", "AVRO"),
        answer.get("version"),
        references,
    )


def _refusal(
    url: str, method: str, path: str, error: urllib.error.HTTPError
) -> SchemaRegistryError:
    """The error of an answer that says no, with the registry's own words."""
    with error:
        data = error.read(_MAX_ANSWER_BYTES)
    try:
        answer = json.loads(data)
        message, code = str(answer["message"]), int(answer.get("error_code", error.code))
    except (ValueError, KeyError, TypeError):
        message, code = error.reason, error.code
    if error.code in (401, 403):
        message = f"{message} (see basic.auth.credentials.source and basic.auth.user.info)"
    text = f"schema registry {url} refused {method} {path}: {message}; error code: {code}"
    return SchemaRegistryError(text, error.code, code, error.code in _RETRIABLE_STATUSES)
