"""Partitions named on a command line: ``orders``, or ``orders:0,3`` for some of its partitions."""

import argparse

from moldau.cli.errors import CommandError, UsageError
from moldau.client.partition_admin import PartitionAdmin, PartitionState


def parse_names(texts: list[str]) -> dict[str, list[int] | None]:
    """Topics, with the partitions that were named; None means all of them. Raises UsageError."""
    names: dict[str, list[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not colon:
            names[topic] = None
            continue
        if not topic or not all(each.isdecimal() for each in numbers.split(",")):
            raise UsageError(f"{text}: write TOPIC, or TOPIC:0,1 for some of its partitions")
        known = names.get(topic, [])
        if known is not None:
            names[topic] = [*known, *map(int, numbers.split(","))]
    return names


def selected(
    partitions: PartitionAdmin, options: argparse.Namespace, *, takes_all: bool = False
) -> list[PartitionState]:
    """The partitions that the arguments name; ``takes_all`` if no name means all of them.

    Raises:
        ApiError, CommandError: a topic or partition does not exist.
        UsageError: no topic is named.
    """
    names = parse_names(options.topics)
    if not names and not takes_all:
        raise UsageError(f"partitions {options.verb}: name a topic, or TOPIC:0,1")
    states = partitions.describe(list(names) or None)
    if not names:
        return states
    chosen = []
    counts = dict.fromkeys(names, 0)
    for state in states:
        topic, number = state.partition
        counts[topic] += 1
        wanted = names[topic]
        if wanted is None or number in wanted:
            chosen.append(state)
    for topic, numbers in names.items():
        for number in numbers or ():
            if number >= counts[topic]:
                raise CommandError(
                    f"there is no partition {number} in {topic}, which has 0 to {counts[topic] - 1}"
                )
    return chosen
