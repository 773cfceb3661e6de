"""The settings as Markdown, for docs/compatibility.md."""

from collections.abc import Iterable

from moldau.config.broker import BROKER_SETTINGS
from moldau.config.definition import Setting, Status
from moldau.config.topic import TOPIC_SETTINGS

_MEANINGS = {
    Status.HONOURED: "has the same effect as in Apache Kafka",
    Status.ACCEPTED: "validated, but without effect so far; the broker logs a warning",
    Status.REFUSED: "any value but the default prevents the start: ignoring it would be unsafe",
}


def settings_tables() -> str:
    """One table for broker settings and one for topic settings, by status and name."""
    parts = ["## Settings\n"]
    for status, meaning in _MEANINGS.items():
        parts.append(f"- **{status}**: {meaning}.")
    parts.append(
        "\nSettings that begin with `moldau.` exist only here. Behind proxies, read "
        "[decision 7](decisions/0007-a-refused-connect-ends-a-session.md) about failures."
    )
    parts.append(
        "\nA listener whose security protocol is not PLAINTEXT is refused, whatever its name is."
    )
    for title, settings in (("Broker", BROKER_SETTINGS), ("Topic", TOPIC_SETTINGS)):
        counts = ", ".join(f"{_count(settings.values(), status)} {status}" for status in Status)
        parts.append(f"\n### {title} settings: {len(settings)} known ({counts})\n")
        parts.append("| setting | status | type | default | allowed | changes | meaning |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- |")
        order = list(Status)
        rows = sorted(settings.values(), key=lambda s: (order.index(s.status), s.name))
        parts.extend(map(_row, rows))
    return "\n".join(parts) + "\n"


def _count(settings: Iterable[Setting], status: Status) -> int:
    return sum(setting.status is status for setting in settings)


def _row(setting: Setting) -> str:
    default = "none" if setting.default is None else f"`{setting.default}`"
    if setting.is_required:
        default = "required"
    cells = (
        f"`{setting.name}`",
        setting.status,
        setting.type.name.lower(),
        "empty" if default == "``" else default,
        setting.allowed_text(),
        setting.mode,
        setting.doc,
    )
    return f"| {' | '.join(cells)} |"
