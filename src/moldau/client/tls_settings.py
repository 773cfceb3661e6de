"""Parses and checks the settings that begin with ``ssl.``; no file is opened yet.

Certificates and keys are PEM, in files or in the settings themselves. Python cannot read Java
keystores (PKCS12 and JKS); the error message shows the command that converts one to PEM. Kafka's
default type is JKS. Here, if no type is given, the content of the file decides.

Files are read where they are used: with Spark, on each machine that runs tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moldau.client.cipher_suites import is_of_tls_1_3

# From the oldest to the newest.
VERSIONS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
_TYPES: Final = ("JKS", "PKCS12", "PEM")
_PEM: Final = "PEM"

NAMES: Final = (
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
# They select implementations in Java.
WITHOUT_EFFECT: Final = (
    "ssl.keymanager.algorithm",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)


@dataclass(frozen=True)
class TlsSettings:
    """Encryption, trusted certificates, and the certificate of the client."""

    # PEM in a file or as text; with neither, the authorities that this machine trusts.
    truststore_location: str | None = None
    truststore_certificates: str | None = None
    # The certificate of this client, if the broker asks for one.
    keystore_location: str | None = None
    keystore_chain: str | None = None
    keystore_key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    # Whether the certificate of a broker must match its host name.
    checks_host: bool = True
    min_version: str = "TLSv1.2"
    max_version: str = "TLSv1.3"
    # Java's names; none means OpenSSL's defaults.
    cipher_suites: tuple[str, ...] = ()


def parse_tls(settings: Mapping[str, str]) -> TlsSettings:
    """Parse and check the settings. Raises ValueError."""
    _check_keystore(settings)
    _check_truststore(settings)
    suites = tuple(_items(settings.get("ssl.cipher.suites", "")))
    lowest, highest = _versions(settings, suites)
    return TlsSettings(
        truststore_location=settings.get("ssl.truststore.location"),
        truststore_certificates=settings.get("ssl.truststore.certificates"),
        keystore_location=settings.get("ssl.keystore.location"),
        keystore_chain=settings.get("ssl.keystore.certificate.chain"),
        keystore_key=settings.get("ssl.keystore.key"),
        key_password=settings.get("ssl.key.password"),
        checks_host=_checks_host(settings),
        min_version=lowest,
        max_version=highest,
        cipher_suites=suites,
    )


def _checks_host(settings: Mapping[str, str]) -> bool:
    name = "ssl.endpoint.identification.algorithm"
    algorithm = settings.get(name, "https").strip().lower()
    if algorithm not in ("https", ""):
        raise ValueError(f"{name}={algorithm}: must be https, or empty to skip the check")
    return bool(algorithm)


def _versions(settings: Mapping[str, str], suites: tuple[str, ...]) -> tuple[str, str]:
    """The lowest and the highest allowed version."""
    name = "ssl.enabled.protocols"
    enabled = _items(settings.get(name, "TLSv1.2,TLSv1.3"))
    unknown = [each for each in enabled if each not in VERSIONS]
    if unknown or not enabled:
        raise ValueError(f"{name}={','.join(enabled)}: must be from {', '.join(VERSIONS)}")
    limit = settings.get("ssl.protocol", "TLS").strip()
    if limit not in (*VERSIONS, "TLS"):
        raise ValueError(f"ssl.protocol={limit}: must be one of {', '.join(VERSIONS)}, TLS")
    ranks = sorted({VERSIONS.index(each) for each in enabled})
    if limit != "TLS":
        ranks = [each for each in ranks if each <= VERSIONS.index(limit)]
    if suites:
        # TLS 1.3 and the versions before it have no suites in common.
        newest = VERSIONS.index("TLSv1.3")
        has_new = any(map(is_of_tls_1_3, suites))
        has_old = not all(map(is_of_tls_1_3, suites))
        ranks = [each for each in ranks if (has_new if each == newest else has_old)]
    if not ranks:
        raise ValueError(
            f"{name}={','.join(enabled)} leaves no version of TLS together with ssl.protocol and "
            "ssl.cipher.suites"
        )
    if ranks != list(range(ranks[0], ranks[-1] + 1)):
        raise ValueError(f"{name}={','.join(enabled)}: the versions must be contiguous")
    return VERSIONS[ranks[0]], VERSIONS[ranks[-1]]


def _check_keystore(settings: Mapping[str, str]) -> None:
    location = settings.get("ssl.keystore.location")
    key = settings.get("ssl.keystore.key")
    chain = settings.get("ssl.keystore.certificate.chain")
    _check_type(settings, "keystore", location)
    if (key is None) != (chain is None):
        missing = "key" if key is None else "certificate.chain"
        raise ValueError(
            f"ssl.keystore.{missing} is missing: a key and its certificate go together"
        )
    if key is not None and location is not None:
        raise ValueError("ssl.keystore.key and ssl.keystore.location are both set: remove one")


def _check_truststore(settings: Mapping[str, str]) -> None:
    location = settings.get("ssl.truststore.location")
    _check_type(settings, "truststore", location)
    if location is not None and settings.get("ssl.truststore.certificates") is not None:
        raise ValueError(
            "ssl.truststore.certificates and ssl.truststore.location are both set: remove one"
        )


def _check_type(settings: Mapping[str, str], store: str, location: str | None) -> None:
    name = f"ssl.{store}.type"
    given = settings.get(name)
    if given is None:
        return
    if given.strip().upper() not in _TYPES:
        raise ValueError(f"{name}={given}: must be PEM")
    if given.strip().upper() != _PEM:
        path = location or f"{store}.{'jks' if given.strip().upper() == 'JKS' else 'p12'}"
        raise ValueError(f"{name}={given} cannot be read here: {remedy(store, path)}")


def remedy(store: str, path: str) -> str:
    """How to convert a Java keystore to PEM."""
    pem = f"{path.rpartition('.')[0] or path}.pem"
    if store == "truststore":
        command = f"keytool -list -rfc -keystore {path} > {pem}"
    else:
        command = (
            f"keytool -importkeystore -srckeystore {path} -destkeystore {pem}.p12 "
            f"-deststoretype PKCS12 && openssl pkcs12 -in {pem}.p12 -out {pem}"
        )
    return f"make PEM of it ('{command}') and set ssl.{store}.type=PEM, ssl.{store}.location={pem}"


def _items(text: str) -> list[str]:
    return [each for each in (part.strip() for part in text.split(",")) if each]
