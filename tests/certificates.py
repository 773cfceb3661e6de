"""Certificates for tests of TLS: an authority, and what it signs, made by ``openssl``."""

import shutil
import subprocess
from pathlib import Path

import pytest

KEY_PASSWORD = "key-secret"


class Authority:
    """Signs certificates for ``localhost`` and 127.0.0.1, or for a name that is given."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not on the PATH")
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "authority.pem"
        self._key = folder / "authority.key"
        _openssl(
            *("req", "-x509", "-nodes", "-days", "3", "-subj", "/CN=Authority of the tests"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
            *(*_NEW_KEY, "-keyout", str(self._key), "-out", str(self.certificate)),
        )

    def sign(self, name: str, *, host: str = "DNS:localhost,IP:127.0.0.1") -> Path:
        """A PEM file with a new key and its certificate, as ``ssl.keystore.location`` wants it."""
        key, request, signed = (self._folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={host}\n")
        _openssl(
            *("req", "-nodes", "-subj", f"/CN={name}", *_NEW_KEY),
            *("-keyout", str(key), "-out", str(request)),
        )
        _openssl(
            *("x509", "-req", "-days", "3", "-in", str(request), "-out", str(signed)),
            *("-CA", str(self.certificate), "-CAkey", str(self._key), "-CAcreateserial"),
            *("-extfile", str(extensions)),
        )
        store = self._folder / f"{name}.pem"
        store.write_text(key.read_text() + signed.read_text())
        return store


def key_of(store: Path) -> str:
    """The key in a PEM file, with its first and last line."""
    return store.read_text().partition("-----BEGIN CERTIFICATE-----")[0]


def chain_of(store: Path) -> str:
    """The certificates in a PEM file."""
    return "".join(store.read_text().partition("-----BEGIN CERTIFICATE-----")[1:])


def encrypted(store: Path) -> Path:
    """The same with its key under ``KEY_PASSWORD``."""
    made = store.with_suffix(".encrypted.pem")
    _openssl(
        *("pkcs8", "-topk8", "-in", str(store), "-out", str(made)),
        *("-passout", f"pass:{KEY_PASSWORD}"),
    )
    made.write_text(made.read_text() + chain_of(store))
    return made


def pkcs12(store: Path) -> Path:
    """The same as one of Java's stores."""
    made = store.with_suffix(".p12")
    _openssl("pkcs12", "-export", "-in", str(store), "-out", str(made), "-passout", "pass:store")
    return made


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
