"""Clicks on the pages of a web shop, counted in windows of ten seconds.

`moldau demo` runs this app with its own broker, simulated visitors and a live view. To run it
yourself, with a broker on localhost:9092:

    moldau topics create clicks --partitions 2
    moldau stream run examples/clickstream.py

and in other terminals:

    echo '{"user": "ann", "page": "/search"}' | moldau produce clicks --key ann
    moldau consume page-views --from-beginning --key-format windowed:text --value-format long
    moldau stream status examples/clickstream.py

A count is written whenever it changes, and once more when its window closes; with `.suppress()`
before `.to(...)` only the last one would be written. A click may be up to five seconds late; after
that its window is closed.
"""

from moldau.streams import LONG, STRING, App, Json, tumbling

app = App("clickstream")

clicks = app.stream("clicks", key=STRING, value=Json("user string, page string"))

page_views = (
    clicks.filter(lambda value: value.page.isNotNull())
    .group_by(lambda value: value.page)
    .windowed_by(tumbling("10 seconds", grace="5 seconds"))
    .count(name="page-views")
)

# The key in the topic is the page and the start of the window, as in Kafka Streams.
page_views.to("page-views", key=STRING, value=LONG)


if __name__ == "__main__":
    app.run()
