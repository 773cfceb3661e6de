"""Generates docs/compatibility.md from the code: supported APIs and settings.

python -m tools.compatibility [--check]
"""

import sys
from pathlib import Path

from moldau.broker.apis import BROKER_APIS
from moldau.broker.controller_apis import CONTROLLER_APIS
from moldau.config.tables import settings_tables
from moldau.protocol.api import APIS

PAGE = Path(__file__).parents[1] / "docs" / "compatibility.md"
INTRODUCTION = """\
# Compatibility with Apache Kafka 4.3

Generated from the code by `make generate`; do not edit.

## APIs

Brokers and controllers advertise exactly the versions in the last column, each those of its own
APIs. Every message of the protocol can be encoded and decoded in every version.

| key | API | versions in Kafka | supported |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The whole page."""
    handlers = {handler.key: handler for handler in (*CONTROLLER_APIS, *BROKER_APIS)}
    rows = []
    for key in sorted(APIS):
        api = APIS[key]
        handler = handlers.get(key)
        answered = "not yet"
        if handler is not None:
            answered = f"{handler.min_version} to {handler.max_version}"
            if not handler.is_advertised:
                answered += ", not advertised (there is no metrics receiver)"
        rows.append(f"| {key} | {api.name} | {api.min_version} to {api.max_version} | {answered} |")
    return INTRODUCTION + "\n".join(rows) + "\n\n" + settings_tables().strip() + "\n"


def main() -> int:
    fresh = page()
    if "--check" in sys.argv:
        if PAGE.read_text() != fresh:
            print(f"{PAGE.name} is out of date: run make generate", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
