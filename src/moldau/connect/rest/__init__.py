"""Kafka Connect's REST API, on top of a ``Herder``.

server       sockets, threads, HTTP/1.1; tls: HTTPS
routing      which function answers which method and path; 404, 405, 406, 415
connectors   plugins   admin   root     the resources: a request in, a response out
forwarding   requests for which another worker is responsible
"""
