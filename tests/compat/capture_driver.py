"""Captures into a SQLite file, records and offset in one transaction, until it is killed.

The file stands for the topics of an exactly-once worker. Arguments: the file, the config as JSON.
"""

import json
import sqlite3
import sys
import time

from tests.compat.captures import Capture, plain


def main(path: str, config: dict[str, str]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, change TEXT)")
    connection.execute("CREATE TABLE IF NOT EXISTS stored (one INTEGER PRIMARY KEY, position TEXT)")
    found = connection.execute("SELECT position FROM stored").fetchone()
    capture = Capture(config, json.loads(found[0]) if found else None)
    while True:
        records = capture.poll(confirms=False)
        if not records:
            time.sleep(0.02)
            continue
        changes = []
        for record in records:
            value = plain(record.value)
            if value is not None:
                change = {"op": value["op"], "key": plain(record.key), "after": value["after"]}
                change |= {"tx": value["source"]["txId"], "lsn": value["source"]["lsn"]}
                changes.append((json.dumps(change),))
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO log (change) VALUES (?)", changes)
        position = json.dumps(records[-1].source_offset)
        connection.execute("INSERT OR REPLACE INTO stored VALUES (1, ?)", (position,))
        connection.execute("COMMIT")
        capture.source.commit([(records[-1].source_partition, records[-1].source_offset)])


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
