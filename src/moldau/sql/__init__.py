"""SQL over topics: every topic is a table, and Apache Spark runs the queries.

``moldau sql`` is the command. A statement takes this path:

* ``statements`` cuts the input into statements, and ``hints`` recognizes those of ksqlDB;
* ``plan`` lets Spark parse it and finds the relations in it, ``topics`` and ``formats`` know which
  of them are topics and how their records are encoded, and ``views`` makes each a temporary view;
* ``engine`` runs the statement and passes on its rows in pieces, ``output`` prints them;
* ``diagnosis`` turns an error of Spark into one line with the place and the remedy.

The queries run in a process of the user that stays for ten idle minutes (``server``), because a
session of Spark takes seconds to start; ``client`` finds or starts it.
"""
