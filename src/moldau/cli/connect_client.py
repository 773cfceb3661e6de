"""Talks to the REST API of a Connect worker, Moldau's or Apache's."""

import json
import ssl
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from moldau.cli.errors import CommandError, UsageError

DEFAULT_URL: Final = "http://localhost:8083"


class ConnectClient:
    """Requests to one worker. Every failure is a CommandError with the worker's own words."""

    def __init__(self, url: str, timeout_s: float = 60.0) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"--url {url}: write http://host:port, as in {DEFAULT_URL}")
        self.url = parts.geturl().rstrip("/")
        self._timeout_s = timeout_s

    def get(self, *path: str, **query: Any) -> Any:
        return self.request("GET", path, query)

    def request(
        self,
        method: str,
        path: tuple[str, ...],
        query: dict[str, Any] | None = None,
        body: Any = None,
    ) -> Any:
        """The JSON of the answer, or None if it has none."""
        target = f"{self.url}/{'/'.join(quote(part, safe='') for part in path)}"
        if query:
            target += f"?{urlencode(query, doseq=True)}"
        request = urllib.request.Request(
            target,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            raise CommandError(_message(error)) from None
        except (urllib.error.URLError, OSError) as error:
            distrust = getattr(error, "reason", None)
            if isinstance(distrust, ssl.SSLCertVerificationError):
                raise CommandError(
                    f"the certificate of {self.url} is not trusted ({distrust.verify_message}): "
                    "set SSL_CERT_FILE to a PEM file with that of its authority"
                ) from None
            if _is_ended_tls(target, error):
                raise CommandError(
                    f"{self.url} ended the TLS connection ({_reason(error)}): with "
                    "ssl.client.auth=required it wants a certificate of the client, and this "
                    "command has none. --url selects another listener of the worker"
                ) from None
            raise CommandError(
                f"no Connect worker answers at {self.url}: {_reason(error)}. 'moldau connect "
                "worker FILE' starts one; --url selects another."
            ) from None
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise CommandError(
                f"{self.url} does not answer as a Connect worker does: --url selects another"
            ) from None


def _message(error: urllib.error.HTTPError) -> str:
    content = error.read()
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return str(found["message"])
    return f"{error.url}: {error.code} {error.reason}"


def _is_ended_tls(target: str, error: OSError) -> bool:
    """Whether the worker ended a connection over HTTPS, with an alert or without."""
    # An SSLError, which may come bare, has a reason too: a text.
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    ended = (ssl.SSLError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
    return target.startswith("https://") and isinstance(inner, ended)


def _reason(error: OSError) -> str:
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner)
