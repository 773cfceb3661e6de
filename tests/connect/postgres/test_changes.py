"""Records of recorded changes: a golden transcript, and what a restart at any point gives."""

import pytest

from moldau.connect.connectors.postgres.pgoutput import Begin, decode
from moldau.connect.connectors.postgres.position import Position, from_offset
from moldau.connect.data.errors import ConnectError

from .recorded import NOW_NS, line, messages, plain, read_all, reader

TRANSCRIPT = """\
public.customers {'id': 1} c {'after': {'id': 1, 'name': 'Ada', 'balance': Decimal('10.50'), \
'mood': 'happy', 'photo': 3000}}
public.customers {'id': 2} c {'after': {'id': 2, 'name': 'Grace', 'balance': Decimal('1.50')}}
public.notes None c {'after': {'a': 1}}
public.notes None c {'after': {'a': 2, 'b': 'tab\\tnewline\\nend'}}
public.customers {'id': 1} u {'after': {'id': 1, 'name': 'Ada', 'balance': Decimal('11.00'), \
'mood': 'happy', 'photo': '__debezium_unavailable_value'}}
public.customers {'id': 2} d {'before': {'id': 2, 'name': ''}} __debezium.newkey={'id': 3}
public.customers {'id': 2} tombstone
public.customers {'id': 3} c {'after': {'id': 3, 'name': 'Grace', 'balance': Decimal('1.50')}} \
__debezium.oldkey={'id': 2}
public.notes None u {'before': {'a': 1}, 'after': {'a': 1, 'b': 'x'}}
public.notes None d {'before': {'a': 2, 'b': 'tab\\tnewline\\nend'}}
public.notes None tombstone
public.customers {'id': 3} d {'before': {'id': 3, 'name': ''}}
public.customers {'id': 3} tombstone
public.customers {'id': 4} c {'after': {'id': 4, 'name': 'Kurt', 'city': 'Wien'}}
message {'prefix': 'audit'} m {'message': {'prefix': 'audit', 'content': b'in a transaction'}}
message {'prefix': 'audit'} m {'message': {'prefix': 'audit', 'content': b'by itself'}}
"""


def test_the_transcript_of_recorded_changes() -> None:
    lines = [line(record) for record in read_all(reader())]
    assert "\n".join(lines) + "\n" == TRANSCRIPT


def test_a_change_says_where_it_comes_from() -> None:
    second = read_all(reader())[1]
    begin = next(m for _, data in messages()[5:] if isinstance(m := decode(data), Begin))
    value = plain(second.value)
    assert value["source"] == {
        "version": value["source"]["version"],
        "connector": "postgresql",
        "name": "srv",
        "ts_ms": begin.commit_us // 1000,
        "snapshot": "false",
        "db": "shop",
        # The end of the transaction before, and the change.
        "sequence": '["26389096","26389096"]',
        "ts_us": begin.commit_us,
        "ts_ns": begin.commit_us * 1000,
        "schema": "public",
        "table": "customers",
        "txId": begin.xid,
        "lsn": 26389096,
    }
    assert (value["ts_ms"], value["ts_ns"]) == (NOW_NS // 1_000_000, NOW_NS)
    assert second.source_partition == {"server": "srv"}
    assert second.source_offset == {
        "ts_usec": begin.commit_us,
        "txId": begin.xid,
        "lsn": 26389096,
        "lsn_proc": 26389096,
        "lsn_commit": 26389096,
        "messageType": "INSERT",
    }


def test_schemas_are_named_as_debezium_names_them() -> None:
    records = read_all(reader())
    first, last = records[0], records[13]
    assert first.key_schema is not None
    assert first.key_schema.name == "srv.public.customers.Key"
    assert first.value_schema is not None
    assert (first.value_schema.name, first.value_schema.version) == (
        "srv.public.customers.Envelope",
        2,
    )
    assert last.value_schema is not None
    fields = {field.name: field.schema for field in last.value_schema.struct_fields}
    after = fields["after"]
    assert (after.name, after.is_optional) == ("srv.public.customers.Value", True)
    # The column that was added came with a new schema, from that change on.
    assert [field.name for field in after.struct_fields][-1] == "city"
    assert "city" not in [
        f.name for f in first.value_schema.fields_by_name["after"].schema.struct_fields
    ]


@pytest.mark.parametrize("durable", range(1, 17))
def test_a_restart_after_any_record_goes_on_with_the_next(durable: int) -> None:
    records = read_all(reader())
    stored = records[durable - 1].source_offset
    rest = read_all(reader(from_offset(stored)))
    # Records of one change are written together, so none of them comes alone.
    following = [r for r in records[durable:] if r.source_offset != stored]
    assert [line(r) for r in rest] == [line(r) for r in following]
    assert [r.source_offset for r in rest] == [r.source_offset for r in following]


def test_reading_the_slot_again_gives_only_what_is_new() -> None:
    changes = reader()
    log = messages()
    first = read_all(changes, log[:9])
    changes.restart()
    again = read_all(changes, log)
    assert [line(r) for r in first + again] == [line(r) for r in read_all(reader())]


def test_transactions_that_overlap_are_told_apart() -> None:
    # B changed something before A committed, and commits later: its changes are not A's.
    position = Position(lsn=150, tx_id=1, commit_lsn=200)
    assert position.has_transaction(199)
    assert not position.has_transaction(260)
    assert not position.has_change(2, 100)
    middle = Position(lsn=100, tx_id=2, commit_lsn=200)
    assert middle.has_change(2, 100)
    assert not middle.has_change(2, 210)


def test_options_choose_operations_tables_columns_and_keys() -> None:
    ops = [r.value.get("op") for r in read_all(reader(skipped_operations="u,d,t")) if r.value]
    assert ops == ["c", "c", "c", "c", "c", "m", "m"]
    truncated = [r for r in read_all(reader(skipped_operations="none")) if r.value]
    assert [line(r) for r in truncated][-2:] == [
        "public.customers None t {}",
        "public.notes None t {}",
    ]
    only = read_all(reader(table_include_list="public[.]notes", message_prefix_exclude_list="a.*"))
    assert {r.topic for r in only} == {"srv.public.notes"}
    without = read_all(reader(column_exclude_list=".*[.](photo|name)"))[0]
    assert plain(without.value)["after"] == {
        "id": 1,
        "balance": plain(without.value)["after"]["balance"],
        "mood": "happy",
    }
    keyed = read_all(reader(message_key_columns="public.notes:a"))
    assert plain(keyed[2].key) == {"a": 1}
    single = [line(r) for r in read_all(reader(tombstones_on_delete="false"))]
    assert not [text for text in single if text.endswith("tombstone")]


def test_offsets_of_debezium_are_understood() -> None:
    snapshot = {"lsn": 5, "txId": 7, "ts_usec": 9, "snapshot": "INITIAL"}
    unfinished = from_offset(
        {**snapshot, "last_snapshot_record": False, "snapshot_completed": False}
    )
    assert unfinished.is_snapshot
    assert not unfinished.is_complete
    finished = from_offset({**snapshot, "last_snapshot_record": True, "snapshot_completed": True})
    assert finished.is_complete
    assert finished.has_transaction(4)
    assert not finished.has_transaction(5)
    assert finished.to_offset() == {
        **snapshot,
        "last_snapshot_record": True,
        "snapshot_completed": True,
    }
    streaming = {
        "lsn": 8,
        "lsn_proc": 8,
        "lsn_commit": 6,
        "txId": 7,
        "ts_usec": 9,
        "messageType": "UPDATE",
    }
    assert from_offset(streaming).to_offset() == streaming
    with pytest.raises(ConnectError, match="no lsn"):
        from_offset({"txId": 1})
    with pytest.raises(ConnectError, match="lsn_commit='x'"):
        from_offset({"lsn": 1, "lsn_commit": "x"})
