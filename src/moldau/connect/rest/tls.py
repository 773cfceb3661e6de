"""TLS of the REST API: on its listeners, and towards the worker that requests are forwarded to.

Without a truststore, the only certificate that is trusted is the worker's own, as by Kafka's
worker: enough if all workers, and all clients that must present one, have the same.
"""

import logging
import re
import socket
import ssl
from dataclasses import replace
from typing import Final

from moldau.client.security_error import SecurityError
from moldau.client.tls import check_suite, context_for, distrust, reason_of, server_context_for
from moldau.client.tls_settings import TlsSettings
from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import ListenerTls

log = logging.getLogger(__name__)

# How long a client may take to say hello.
HANDSHAKE_TIMEOUT_S: Final = 30.0
_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?", re.DOTALL
)


class ListenerContext:
    """The TLS of a listener; files that are replaced are used from the next connection on.

    Raises:
        ConfigError: a file is missing, is not PEM, or its password is another.
    """

    def __init__(self, tls: ListenerTls) -> None:
        self._tls = tls
        self._problem = ""
        self._context = _server_context(tls)

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """``connection`` with TLS, before the handshake. It must not be used itself any more."""
        try:
            self._context = _server_context(self._tls)
            self._problem = ""
        except ConfigError as error:
            # Half of a renewal, perhaps: the certificate that is in use still is.
            if str(error) != self._problem:
                self._problem = str(error)
                log.warning("The REST API goes on with its former certificate: %s", error)
        connection.settimeout(HANDSHAKE_TIMEOUT_S)
        return self._context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )

    def shake_hands(self, connection: ssl.SSLSocket) -> None:
        """Raises OSError or SecurityError if the two do not get along."""
        connection.do_handshake()
        check_suite(connection, "the handshake", self._tls.settings)


def worker_context(tls: ListenerTls) -> ssl.SSLContext:
    """The TLS towards another worker. Raises ConfigError."""
    try:
        return context_for(_trusting(tls.settings))
    except SecurityError as error:
        raise ConfigError(tls.named(str(error.message))) from None


def refusal(error: Exception, url: str, tls: ListenerTls) -> str:
    """Why the worker at ``url`` could not be asked."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return tls.named(distrust(error, url))
    return reason_of(error)


def say_goodbye(connection: ssl.SSLSocket) -> None:
    """Tell the client that this was all (close_notify), without waiting for its answer."""
    try:
        connection.settimeout(0)
        connection.unwrap()
    except (OSError, ValueError):
        pass


def _server_context(tls: ListenerTls) -> ssl.SSLContext:
    settings = tls.settings if tls.client_auth == "none" else _trusting(tls.settings)
    try:
        return server_context_for(settings, tls.client_auth)
    except SecurityError as error:
        raise ConfigError(tls.named(str(error.message))) from None


def _trusting(settings: TlsSettings) -> TlsSettings:
    """``settings`` with certificates to trust: without a truststore, that of the worker itself."""
    if settings.truststore_location or settings.truststore_certificates:
        return settings
    own = settings.keystore_chain
    if settings.keystore_location is not None:
        try:
            with open(settings.keystore_location, encoding="latin-1") as file:
                own = file.read()
        except OSError:
            return settings  # Whoever loads the key names the file.
    found = _CERTIFICATE.search(own or "")
    return settings if found is None else replace(settings, truststore_certificates=found[0])
