"""Clicks on the pages of a web shop, counted in windows of ten seconds.

`moldau demo` runs this app from nothing, with made-up visitors and a live view. By hand, with a
broker on localhost:9092:

    moldau topics create clicks --partitions 2
    moldau stream run examples/clickstream.py

and in other terminals:

    echo '{"user": "ann", "page": "/search"}' | moldau produce clicks --key ann
    moldau consume page-views --from-beginning --key-format windowed:text --value-format long
    moldau stream status examples/clickstream.py

A count is written whenever it has changed, and once more when the window cannot change any more:
`.suppress()` before `.to(...)` would leave only the last one. A click may come up to five seconds
late; after that its window is closed.
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
