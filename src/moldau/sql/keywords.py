"""The words of SQL that are completed, and offered for misspelled ones."""

from typing import Final

KEYWORDS: Final = [
    "ALL", "AND", "ANTI", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CREATE", "CROSS", "DELETE",
    "DESC", "DESCRIBE", "DISTINCT", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "FALSE",
    "FROM", "FULL", "FUNCTION", "FUNCTIONS", "GROUP", "HAVING", "IN", "INNER", "INSERT",
    "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE", "LIMIT",
    "MATERIALIZED", "NATURAL", "NOT", "NULL", "NULLS", "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER",
    "OVER", "PARTITION", "REPLACE", "RIGHT", "SCHEMA", "SELECT", "SEMI", "SET", "SHOW", "STREAM",
    "STREAMING", "SUGGEST", "TABLE", "TABLES", "TEMPORARY", "THEN", "TIMESTAMP", "TOPICS", "TRUE",
    "UNION", "USING", "VALUES", "VERSION", "VIEW", "WHEN", "WHERE", "WINDOW", "WITH",
]  # fmt: skip

TYPES: Final = [
    "STRING", "INT", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP", "DATE", "VARIANT",
    "BINARY", "FLOAT", "INTEGER", "LONG", "SMALLINT", "TINYINT", "ARRAY", "MAP", "STRUCT",
    "TIMESTAMP_NTZ", "VARCHAR", "CHAR",
]  # fmt: skip
