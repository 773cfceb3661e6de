"""What two options, or an option and the worker, must have in common."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from moldau.connect.config.connector_options import DEAD_LETTERS
from moldau.connect.config.definition import ConfigValue, Type, parse_value
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern

Config = Mapping[str, str | None]
# The value of an option, made if it is not there, to add errors to.
Values = Callable[[str], ConfigValue]


NO_TOPICS: Final = "Set topics or topics.regex: a sink reads topics"
BOTH_TOPICS: Final = "Remove topics or topics.regex: a sink takes one of them, not both"


def reads_dead_letters(topic: str, how: str) -> str:
    """What is wrong with a sink that reads the topic of its own dead letters."""
    return f"{DEAD_LETTERS}={topic} {how}, and would be read again: choose another topic"


def check_sink(config: Config, worker: Mapping[str, str], value: Values) -> None:
    """Exactly one of ``topics`` and ``topics.regex``, without the dead letters; a free group."""
    topics = (config.get("topics") or "").strip()
    regex = (config.get("topics.regex") or "").strip()
    dead_letters = (config.get(DEAD_LETTERS) or "").strip()
    if bool(topics) == bool(regex):
        message = BOTH_TOPICS if topics else NO_TOPICS
        value("topics").errors.append(message)
        value("topics.regex").errors.append(message)
    names = parse_value("topics", topics, Type.LIST)
    if dead_letters and dead_letters in names:
        value("topics").errors.append(
            reads_dead_letters(dead_letters, f"is one of topics={','.join(names)}")
        )
    if dead_letters and regex and _matches(regex, dead_letters):
        value("topics.regex").errors.append(
            reads_dead_letters(dead_letters, f"matches topics.regex={regex}")
        )
    _check_group(config, worker, value)


def _matches(regex: str, topic: str) -> bool:
    try:
        return compile_pattern(regex).fullmatch(topic) is not None
    except JavaRegexError:
        return False  # Reported with the option itself.


def _check_group(config: Config, worker: Mapping[str, str], value: Values) -> None:
    group = worker.get("group.id")
    if not group:
        return
    override = "consumer.override.group.id"
    chosen = config.get(override)
    if chosen is not None:
        if not chosen.strip():
            message = f"{override} is empty: name a group, or leave it out for connect-NAME"
            value(override).errors.append(message)
        if chosen == group:
            message = f"{override}={chosen} is the group of the workers: choose another"
            value(override).errors.append(message)
    elif f"connect-{config.get('name')}" == group:
        value("name").errors.append(
            f"The sink {config.get('name')} would consume as {group}, the group of the workers: "
            f"choose another name, or set {override}"
        )


def check_source(worker: Mapping[str, str], connector: Any, value: Values) -> None:
    """What ``exactly.once.support`` and ``transaction.boundary`` ask of connector and worker."""
    support = value("exactly.once.support")
    if not support.errors and str(support.value).lower() == "required":
        enabled = worker.get("exactly.once.source.support", "disabled").strip().lower()
        if enabled != "enabled":
            message = "This worker has exactly.once.source.support=disabled: enable it there"
            support.errors.append(message)
        if not connector.exactly_once:
            support.errors.append(
                "This connector cannot deliver exactly once: set exactly.once.support=requested"
            )
    boundary = value("transaction.boundary")
    if not boundary.errors and str(boundary.value).lower() == "connector":
        boundary.errors.append(
            "This connector does not end transactions itself: set transaction.boundary to poll "
            "or interval"
        )
