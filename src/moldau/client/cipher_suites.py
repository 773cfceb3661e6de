"""Names of cipher suites: Kafka's settings use the standard names, OpenSSL uses its own.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256    ECDHE-RSA-AES128-GCM-SHA256
    TLS_RSA_WITH_AES_256_CBC_SHA             AES256-SHA

The suites of TLS 1.3 do not mention key exchange, and have the same name in both.
"""

import re
from typing import Final

_OLDER: Final = re.compile(r"(?:TLS|SSL)_(?P<keys>\w+?)_WITH_(?P<cipher>\w+)_(?P<hash>[A-Z0-9]+)")


def is_of_tls_1_3(suite: str) -> bool:
    return "_WITH_" not in suite and suite.startswith("TLS_")


def openssl_name(suite: str) -> str:
    """OpenSSL's name for a standard name; a name of OpenSSL is returned unchanged."""
    found = _OLDER.fullmatch(suite)
    if found is None:
        return suite
    cipher = re.sub(r"(AES|CAMELLIA)_(\d+)", r"\1\2", found["cipher"])
    # OpenSSL omits CBC, and the hash if the cipher authenticates by itself.
    cipher = cipher.removesuffix("_CBC").replace("_", "-")
    keys = "" if found["keys"] == "RSA" else found["keys"].replace("_", "-") + "-"
    hashed = "" if cipher == "CHACHA20-POLY1305" else f"-{found['hash']}"
    return f"{keys}{cipher}{hashed}"
