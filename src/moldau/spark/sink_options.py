"""The options of ``format("moldau")`` when writing: those of Spark's Kafka sink."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moldau.spark.client_options import ClientOptions
from moldau.spark.errors import PipelineError
from moldau.spark.option_values import Given
from moldau.spark.producer_options import ProducerOptions, parse_producer_options

_OWN: Final = ("topic", "includeHeaders")
# Options that Spark itself passes to a writer.
_OF_SPARK: Final = ("checkpointLocation", "path", "queryName")
_NAMES: Final = {name.lower() for name in (*_OWN, *_OF_SPARK)}


@dataclass(frozen=True)
class SinkOptions:
    """Where to write, and how."""

    client: ClientOptions
    producing: ProducerOptions
    # The topic of all rows; None if they have a column for it.
    topic: str | None
    include_headers: bool


def parse_sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Parse and check all options of a write.

    Raises:
        PipelineError: an option is unknown, missing or invalid.
    """
    given = Given(options)
    for name in given.names:
        if not name.startswith("kafka.") and name not in _NAMES:
            raise PipelineError(
                f"there is no option {name} when writing: there are {', '.join(_OWN)} and kafka.*"
            )
    if given.text("path") is not None:
        raise PipelineError("save() takes no path here: option topic says where to write")
    client, producing = parse_producer_options(options)
    topic = given.text("topic")
    if topic is not None and not topic.strip():
        raise PipelineError("option topic is empty: write the name of a topic, or leave it out")
    return SinkOptions(client, producing, topic, given.flag("includeHeaders", True))
