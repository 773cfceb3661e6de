"""Topics with names that mean something else in SQL."""

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from tests.sql.conftest import Sql


@pytest.mark.parametrize("topic", ["json.lines", "range", "values"])
def test_a_topic_comes_before_what_else_has_its_name(topic: str, sql: Sql, bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 1)
    try:
        with Producer(bootstrap) as producer:
            producer.send(topic, b'{"a": 17}')
        assert sql(f"SELECT value:a::int AS a FROM {topic}") == " a\n17\n"
    finally:
        with Admin(bootstrap) as admin:
            admin.delete_topics([topic])
