"""Kafka's wire and record formats: typed messages, headers and the table of APIs.

``schema/`` describes every layout as text, ``generator/`` turns it into the modules of
``messages/`` and ``records/`` (``python -m moldau.protocol.generator``), which are checked
in. ``reading`` and ``writing`` hold the primitives that the generated code uses, ``header`` the
request and response headers, ``api`` the table of APIs.
"""
