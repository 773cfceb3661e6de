"""Joins orders with the company and city of their customers, and sums up what each city spends.

A stream is joined with a table: `customers` is a compacted topic, and each order is joined with the
latest value of its customer. The result goes to one topic, the sums per city to another.

With a broker on localhost:9092:

    moldau topics create orders
    moldau topics create customers --config cleanup.policy=compact
    moldau stream run examples/orders.py

and in other terminals:

    echo '{"company": "Ann & Co", "city": "Prague"}' | moldau produce customers --key c1
    echo '{"customer": "c1", "amount": 99.5}' | moldau produce orders --key o1
    moldau consume enriched-orders --from-beginning
    moldau consume city-revenue --from-beginning --key-format text --value-format double

The sums can be queried from anywhere, whether the app is running or not:

    from moldau.examples.orders import app
    app.table("city-revenue").get("Prague")
"""

from pyspark.sql import functions as F

from moldau.streams import DOUBLE, STRING, App, Json

app = App("orders")

customers = app.table("customers", key=STRING, value=Json("company string, city string"))
orders = app.stream("orders", key=STRING, value=Json("customer string, amount double"))

# An order of an unknown customer is kept, with nulls; how="inner" would drop it.
enriched = orders.join(
    customers,
    lambda order, customer: {
        "customer": order.customer,
        "company": customer.company,
        "city": customer.city,
        "amount": order.amount,
    },
    on=lambda value: value.customer,
    how="left",
)
enriched.to("enriched-orders", key=STRING, value=Json())

revenue = enriched.group_by(lambda value: value.city).aggregate(
    lambda value: F.sum(value.amount), name="city-revenue"
)
revenue.to("city-revenue", key=STRING, value=DOUBLE)


if __name__ == "__main__":
    app.run()
