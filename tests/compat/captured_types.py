"""A column of each type, with values at its edges: what captures are compared with."""

# By column: the type, and the value in each row, as SQL.
COLUMNS: dict[str, tuple[str, str, str]] = {
    "i2": ("smallint", "1", "-1"),
    "i4": ("int NOT NULL DEFAULT 5", "7", "-7"),
    "i8": ("bigint DEFAULT 1234567890123", "2", "-9223372036854775808"),
    "b": ("bool DEFAULT true", "false", "true"),
    "f4": ("real DEFAULT 1.5", "0.1", "'NaN'"),
    "f8": ("double precision", "3.25", "'-Infinity'"),
    "n": ("numeric", "123.4500", "-12345678901234567890.123456789"),
    "n52": ("numeric(5, 2) DEFAULT 1.25", "99.5", "-0.01"),
    "n50": ("numeric(5)", "42", "-1"),
    "t": ("text DEFAULT 'it''s'", "E'tab\\tline\\n\\\\ é'", "''"),
    "vc": ("varchar(10)", "'vc'", "''"),
    "c": ("char(5)", "'c'", "''"),
    "raw": ("bytea", "'\\x00ff10'", "''"),
    "d": ("date DEFAULT '2020-01-02'", "'1969-12-31'", "'9999-12-31'"),
    "tm": ("time", "'01:02:03.456789'", "'00:00'"),
    "tm3": ("time(3)", "'01:02:03.4567'", "'24:00:00'"),
    "tmtz": ("timetz", "'01:02:03.5+02'", "'23:59:59.999999-11'"),
    "ts": ("timestamp DEFAULT now()", "'2021-02-03 04:05:06.789012'", "'1969-12-31 23:59:59'"),
    "ts3": ("timestamp(3)", "'2021-02-03 04:05:06.789'", "'1969-12-31 23:59:59.999'"),
    "tz": ("timestamptz", "'2021-02-03 04:05:06.789012+01'", "'1900-01-01 00:00+00'"),
    "tz3": ("timestamptz(3)", "'2021-02-03 04:05:06.7+01'", "'1999-12-31 23:59:59.9996+00'"),
    "iv": ("interval", "'1 year 2 mons 3 days 04:05:06.789'", "'-1 mons -2 days -03:04:05'"),
    "js": ("json", "'{\"a\": [1, 2]}'", "'null'"),
    "jb": ("jsonb DEFAULT '{\"a\": 1}'", "'[]'", "'1'"),
    "u": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "repeat('0', 32)::uuid"),
    "x": ("xml", "'<a>b</a>'", "''"),
    "ip": ("inet", "'192.168.0.1/24'", "'::1'"),
    "net": ("cidr", "'10.0.0.0/8'", "'::/0'"),
    "mac": ("macaddr", "'08:00:2b:01:02:03'", "'ff:ff:ff:ff:ff:ff'"),
    "bit1": ("bit(1)", "'1'", "'0'"),
    "bit5": ("bit(5)", "'10110'", "'00000'"),
    "vb": ("varbit", "'101'", "''"),
    "money": ("money", "'$1,234.56'", "'-$0.05'"),
    "pt": ("point", "'(1.5,-2)'", "'(0,0)'"),
    "m": ("mood DEFAULT 'ok'", "'happy'", "'sad'"),
    "pos": ("posint DEFAULT 7", "1", "2"),
    "pair": ("pair", "'(1,x)'", "'(,)'"),
    "hs": ("hstore", '\'a=>1,b=>NULL,"c d"=>"e\\"f"\'', "''"),
    "ci": ("citext", "'CiText'", "''"),
    "lt": ("ltree", "'a.b.c'", "''"),
    "i4r": ("int4range", "'[1,5)'", "'empty'"),
    "tzr": ("tstzrange", "'[2020-01-01 00:00+00,)'", "'empty'"),
    "tsv": ("tsvector", "'the fat cat'", "''"),
    "o": ("oid", "12345", "4294967295"),
    "ln": ("line", "'{1,2,3}'", "'{1,0,0}'"),
    "ai4": ("int4[]", "'{1,2,NULL}'", "'{}'"),
    "ai8": ("int8[]", "'{1,-2}'", "'{}'"),
    "at": ("text[]", '\'{a,"b c",NULL,"q\\"x","NULL",""}\'', "'{}'"),
    "an": ("numeric[]", "'{1.5,2,NULL}'", "'{}'"),
    "an52": ("numeric(5, 2)[]", "'{1.5,2}'", "'{}'"),
    "af8": ("float8[]", "'{1e100,-0.5}'", "'{Infinity}'"),
    "ab": ("bool[]", "'{t,f}'", "'{}'"),
    "ad": ("date[]", "'{2020-01-01,1999-12-31}'", "'{}'"),
    "au": ("uuid[]", "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'", "'{}'"),
    "ajb": ("jsonb[]", "ARRAY['{\"a\": 1}'::jsonb]", "'{}'"),
    "ats": ("timestamp[]", "'{2020-01-02 03:04:05.678}'", "'{}'"),
    "atz": ("timestamptz[]", "'{2020-01-02 03:04:05.678+02}'", "'{}'"),
    "am": ("mood[]", "'{sad,happy}'", "'{}'"),
    "amoney": ("money[]", "'{1}'", "'{}'"),
    "aip": ("inet[]", "'{192.168.0.1}'", "'{}'"),
}

TABLES = f"""
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN posint AS int CHECK (value > 0);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE types (id serial PRIMARY KEY, {
    ", ".join(f"{name} {kind}" for name, (kind, _, _) in COLUMNS.items())
});
CREATE TABLE multi (a int, b text, c numeric(10, 3) NOT NULL, PRIMARY KEY (b, a));
CREATE TABLE keyless (a int, b text);
ALTER TABLE keyless REPLICA IDENTITY FULL;
CREATE TABLE big (id int PRIMARY KEY, v text, w int);
ALTER TABLE big ALTER COLUMN v SET STORAGE EXTERNAL;
CREATE TABLE "Odd Näme" ("Weird-Col 1" int PRIMARY KEY, "x.y" text);
CREATE TABLE uniquely (a int NOT NULL, b text, UNIQUE (a));
ALTER TABLE uniquely REPLICA IDENTITY USING INDEX uniquely_a_key
"""

ROWS = ";\n".join(
    [
        f"INSERT INTO types ({', '.join(COLUMNS)}) VALUES "
        f"({', '.join(first for _, first, _ in COLUMNS.values())}), "
        f"({', '.join(second for _, _, second in COLUMNS.values())})",
        # One row of defaults, one of nulls.
        "INSERT INTO types DEFAULT VALUES",
        f"INSERT INTO types (i4, {', '.join(name for name in COLUMNS if name != 'i4')}) "
        f"VALUES (1{', NULL' * (len(COLUMNS) - 1)})",
        "INSERT INTO keyless VALUES (1, 'x'), (2, NULL)",
        "INSERT INTO multi VALUES (1, 'x', 1.5), (2, 'y', 2)",
        "INSERT INTO big VALUES (1, repeat('x', 10000), 1)",
        "INSERT INTO \"Odd Näme\" VALUES (1, 'z')",
        "INSERT INTO uniquely VALUES (1, 'u')",
    ]
)
ROW_COUNT = 11

CHANGES = """
UPDATE multi SET c = 3 WHERE a = 1;
UPDATE multi SET a = 10 WHERE a = 1;
DELETE FROM multi WHERE a = 10;
UPDATE big SET w = 2;
UPDATE big SET id = 2;
UPDATE keyless SET b = 'y' WHERE a = 1;
DELETE FROM keyless WHERE a = 2;
ALTER TABLE multi ADD COLUMN extra text DEFAULT 'e' NOT NULL;
INSERT INTO multi VALUES (5, 'n', 1, 'more');
BEGIN;
INSERT INTO multi VALUES (6, 't', 1);
INSERT INTO multi VALUES (7, 't', 1);
INSERT INTO keyless VALUES (9, 'q');
COMMIT;
UPDATE uniquely SET b = 'v';
TRUNCATE keyless;
DELETE FROM "Odd Näme";
ALTER TABLE big REPLICA IDENTITY FULL;
UPDATE big SET w = 3;
UPDATE types SET i2 = 3;
DELETE FROM types;
DELETE FROM big;
SELECT pg_logical_emit_message(true, 'audit', 'hello');
SELECT pg_logical_emit_message(false, 'audit', 'alone')
"""
END = "SELECT pg_logical_emit_message(true, 'end', '')"
