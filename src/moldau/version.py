"""The version of this release, on its own so that every layer may import it."""

from typing import Final

VERSION: Final = "0.1.0"
