"""Kafka's wire and record formats: typed messages, headers and the table of APIs.

``schema/`` describes every layout as text, ``generator/`` turns it into the modules of
``messages/`` and ``records/`` (``python -m moldau.protocol.generator``), which are checked
in. ``reading`` and ``writing`` hold the primitives the generated code is made of, ``header``
the request and response headers, ``api`` what each API key means.
"""
