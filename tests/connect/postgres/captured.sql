-- What captured.json was recorded from: the messages of pgoutput for the changes below.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE customers (
    id int PRIMARY KEY,
    name text NOT NULL,
    balance numeric(10, 2) DEFAULT 1.5,
    mood mood,
    photo text
);
ALTER TABLE customers ALTER COLUMN photo SET STORAGE EXTERNAL;
CREATE TABLE notes (a int, b text);
ALTER TABLE notes REPLICA IDENTITY FULL;
-- changes
INSERT INTO customers VALUES (1, 'Ada', 10.5, 'happy', repeat('x', 3000));
BEGIN;
INSERT INTO customers (id, name) VALUES (2, 'Grace');
INSERT INTO notes VALUES (1, NULL), (2, 'tab	newline
end');
COMMIT;
UPDATE customers SET balance = 11 WHERE id = 1;
UPDATE customers SET id = 3 WHERE id = 2;
UPDATE notes SET b = 'x' WHERE a = 1;
DELETE FROM notes WHERE a = 2;
DELETE FROM customers WHERE id = 3;
ALTER TABLE customers ADD COLUMN city text;
INSERT INTO customers VALUES (4, 'Kurt', NULL, NULL, NULL, 'Wien');
SELECT pg_logical_emit_message(true, 'audit', 'in a transaction');
SELECT pg_logical_emit_message(false, 'audit', 'by itself');
TRUNCATE customers, notes RESTART IDENTITY;
