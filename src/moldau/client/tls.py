"""TLS connections: the context built from the settings, the handshake, and its errors.

Also the contexts of listeners, which have the same settings and ``ssl.client.auth``.

A context is built once and used for every connection until one of its files changes: the next
connection uses a renewed certificate, without a restart.

Trust works as in Java: every certificate in the truststore is trusted, whether it is a root, an
intermediate, or the certificate of a broker itself.
"""

import os
import re
import socket
import ssl
import tempfile
from base64 import b64decode
from functools import lru_cache
from typing import Final

from moldau.client.cipher_suites import is_of_tls_1_3, openssl_name
from moldau.client.security_error import SecurityError
from moldau.client.tls_settings import TlsSettings, remedy
from moldau.errors import ErrorCode

_VERSIONS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
# The values of ``ssl.client.auth``: what a listener does about certificates of clients.
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
CLIENT_AUTH: Final = tuple(_CLIENT_AUTH)
_PEM_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----")
_PEM_LINE: Final = 64
# OpenSSL's codes for a name mismatch, for host names and for IP addresses.
_OTHER_NAME: Final = (62, 64)
# The alerts of a peer that wants a client certificate, or another one.
_OURS_REFUSED: Final = (
    "BAD_CERTIFICATE",
    "CERTIFICATE_REQUIRED",
    "CERTIFICATE_UNKNOWN",
    "UNKNOWN_CA",
)

_NOTHING_COMMON: Final = (
    "HANDSHAKE_FAILURE",
    "INSUFFICIENT_SECURITY",
    "NO_CIPHERS_AVAILABLE",
    "NO_PROTOCOLS_AVAILABLE",
    "PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
)


def secured(plain: socket.socket, host: str, where: str, settings: TlsSettings) -> ssl.SSLSocket:
    """Wrap ``plain`` in TLS; ``plain`` itself must not be used any more.

    Raises:
        SecurityError: one side does not trust the other, or a file cannot be read.
        OSError: the connection is lost.
    """
    wrapped = context_for(settings).wrap_socket(plain, server_hostname=host)
    check_suite(wrapped, where, settings)
    return wrapped


def check_suite(connection: ssl.SSLSocket, where: str, settings: TlsSettings) -> None:
    """Close ``connection`` if its suite is not among those of the settings.

    Python cannot select the suites of TLS 1.3, but it can refuse the one that was chosen.

    Raises:
        SecurityError: the suite is another.
    """
    cipher = connection.cipher()
    allowed = [openssl_name(each) for each in settings.cipher_suites]
    if allowed and cipher is not None and cipher[0] not in allowed:
        connection.close()
        raise _error(
            f"{where} chose {cipher[0]}, which is not among ssl.cipher.suites: add it, or leave "
            "TLSv1.3 out of ssl.enabled.protocols (Python cannot select its suites)"
        )


def is_silent(connection: socket.socket) -> bool:
    """Whether the readable bytes are only TLS's own messages. For idle connections only."""
    timeout_s = connection.gettimeout()
    connection.settimeout(0)
    try:
        # Empty means end of file, and any data is unexpected.
        connection.recv(1)
    except ssl.SSLWantReadError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(timeout_s)
    return False


def context_for(settings: TlsSettings) -> ssl.SSLContext:
    """The TLS context for these settings. Raises SecurityError."""
    return _context(settings, _stamps(settings), None)


def server_context_for(settings: TlsSettings, client_auth: str) -> ssl.SSLContext:
    """The TLS context of a listener, with a value of ``ssl.client.auth``. Raises SecurityError."""
    return _context(settings, _stamps(settings), client_auth)


def refusal(error: Exception, where: str, settings: TlsSettings) -> SecurityError | None:
    """The ``SecurityError`` for ``error``, if it is one that retrying cannot fix."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _error(distrust(error, where))
    reason = getattr(error, "reason", None) or ""
    if "WRONG_VERSION_NUMBER" in reason or "RECORD_LAYER_FAILURE" in reason:
        return _error(
            f"{where} does not use TLS: set security.protocol to PLAINTEXT or SASL_PLAINTEXT"
        )
    has_certificate = settings.keystore_location or settings.keystore_chain
    if any(each in reason for each in _OURS_REFUSED):
        return _error(
            f"{where} does not trust the certificate of this client ({_plain(reason)}): it must "
            "be signed by an authority that the broker trusts"
            if has_certificate
            else f"{where} requires a client certificate ({_plain(reason)}): set "
            "ssl.keystore.location to a PEM file with a key and its certificate"
        )
    if any(each in reason for each in _NOTHING_COMMON):
        message = (
            f"{where} and this client have no TLS version or cipher suite in common "
            f"({_plain(reason)}): check "
            f"ssl.enabled.protocols ({settings.min_version} to {settings.max_version} here) and "
            "ssl.cipher.suites"
        )
        if not has_certificate:
            message += "; if it requires a client certificate, set ssl.keystore.location"
        return _error(message)
    return None


@lru_cache(maxsize=16)
def _context(
    settings: TlsSettings, stamps: tuple[tuple[int, int], ...], client_auth: str | None
) -> ssl.SSLContext:
    """``client_auth`` is None on the side of the client."""
    if client_auth is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = settings.checks_host
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = _CLIENT_AUTH[client_auth]
    context.minimum_version = _VERSIONS[settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    older = [openssl_name(each) for each in settings.cipher_suites if not is_of_tls_1_3(each)]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            names = ", ".join(settings.cipher_suites)
            raise _error(f"ssl.cipher.suites={names}: OpenSSL supports none of them") from None
    _load_trusted(context, settings)
    _load_own(context, settings)
    return context


def _load_trusted(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.truststore_certificates is not None:
        try:
            context.load_verify_locations(cadata=_rewrapped(settings.truststore_certificates))
        except (ssl.SSLError, ValueError):
            raise _error("ssl.truststore.certificates: there is no certificate in it") from None
    elif settings.truststore_location is not None:
        path = settings.truststore_location
        _check_is_pem("truststore", path)
        try:
            context.load_verify_locations(cafile=path)
        except ssl.SSLError:
            raise _error(f"ssl.truststore.location={path}: there is no certificate in it") from None
    else:
        context.load_default_certs()


def _load_own(context: ssl.SSLContext, settings: TlsSettings) -> None:
    # Without a password, OpenSSL would ask for one on the terminal.
    password = settings.key_password or ""
    if settings.keystore_location is not None:
        path = settings.keystore_location
        _check_is_pem("keystore", path)
        try:
            context.load_cert_chain(path, password=password)
        except (ssl.SSLError, OSError) as error:
            raise _unusable(f"ssl.keystore.location={path}", error) from None
    elif settings.keystore_chain is not None and settings.keystore_key is not None:
        # OpenSSL reads them from files only: a private one, deleted at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(_rewrapped(settings.keystore_chain) + _rewrapped(settings.keystore_key))
            file.flush()
            try:
                context.load_cert_chain(file.name, password=password)
            except (ssl.SSLError, OSError) as error:
                names = "ssl.keystore.certificate.chain and ssl.keystore.key"
                raise _unusable(names, error) from None


def _unusable(what: str, error: OSError) -> SecurityError:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return _error(f"{what}: the key is not that of the certificate")
    return _error(
        f"{what}: a key in PEM and its certificate are expected; if the key is encrypted, "
        "ssl.key.password must be that of the key"
    )


def _check_is_pem(store: str, path: str) -> None:
    with open(path, "rb") as file:
        content = file.read()
    if b"-----BEGIN " not in content:
        raise _error(f"ssl.{store}.location={path} is not PEM: {remedy(store, path)}")


def _stamps(settings: TlsSettings) -> tuple[tuple[int, int], ...]:
    stores = ("truststore", settings.truststore_location), ("keystore", settings.keystore_location)
    return tuple(_stamp(store, path) for store, path in stores if path is not None)


def _stamp(store: str, path: str) -> tuple[int, int]:
    """A value that changes when the file changes."""
    try:
        # Opened as well, so that an unreadable file is reported by name.
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
    except OSError as error:
        raise _error(f"ssl.{store}.location={path} cannot be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size


def _rewrapped(text: str) -> str:
    """PEM with the line lengths that OpenSSL needs; in properties files it is often one line."""
    blocks = []
    for name, body in _PEM_BLOCK.findall(text):
        if ":" in body:  # Headers of an older format depend on their line breaks.
            return text
        data = "".join(body.split())
        b64decode(data, validate=True)
        lines = [data[start : start + _PEM_LINE] for start in range(0, len(data), _PEM_LINE)]
        blocks += [f"-----BEGIN {name}-----", *lines, f"-----END {name}-----", ""]
    return "\n".join(blocks)


def distrust(error: ssl.SSLCertVerificationError, where: str) -> str:
    """Why the certificate of a server is refused, and what to do."""
    said = error.verify_message
    if error.verify_code in _OTHER_NAME:
        return (
            f"the certificate of {where} is for another name ({said}): use a name that is in it, "
            "or set ssl.endpoint.identification.algorithm to the empty string to skip the check"
        )
    return (
        f"the certificate of {where} is not trusted ({said}): set ssl.truststore.location to a "
        "PEM file with the certificate of its authority"
    )


def reason_of(error: Exception) -> str:
    """Why a connection was lost, in a few words."""
    reason = getattr(error, "reason", None)
    return _plain(reason) if reason else getattr(error, "strerror", None) or str(error)


def _plain(reason: str) -> str:
    """``SSLV3_ALERT_BAD_CERTIFICATE`` as words."""
    return reason.rpartition("ALERT_")[2].replace("_", " ").lower()


def _error(message: str) -> SecurityError:
    # Kafka has no code for TLS errors; this one is not retriable.
    return SecurityError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
