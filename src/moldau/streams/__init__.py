"""Streams and tables on Apache Spark, with the concepts of Kafka Streams.

    from moldau.streams import App, Json, STRING, tumbling

    app = App("shop", bootstrap="localhost:9092")
    orders = app.stream("orders", key=STRING, value=Json("customer string, amount double"))
    (
        orders.group_by(lambda value: value.customer)
        .windowed_by(tumbling("5 minutes", grace="30 seconds"))
        .count()
        .to("orders-per-customer")
    )
    app.run()

Every stream and table has its DataFrame as ``.df``. Importing this does not import Spark.
"""

from moldau.streams.app import App
from moldau.streams.avro import Avro
from moldau.streams.grouped import GroupedStream
from moldau.streams.grouped_table import GroupedTable
from moldau.streams.keyed_state import States
from moldau.streams.processing import Context, Processor
from moldau.streams.protobuf import Protobuf
from moldau.streams.serdes import BYTES, DOUBLE, FLOAT, INT, LONG, STRING, Json, Serde
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.windowed_keys import WindowedKey
from moldau.streams.windows import hopping, session, sliding, tumbling

__all__ = [
    "BYTES",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "STRING",
    "App",
    "Avro",
    "Context",
    "GroupedStream",
    "GroupedTable",
    "Json",
    "Processor",
    "Protobuf",
    "Serde",
    "States",
    "Stream",
    "Table",
    "WindowedKey",
    "hopping",
    "session",
    "sliding",
    "tumbling",
]
