"""Sealed tasks: a benchmark whose answers no policy can read.

Outside this package only :mod:`kernaut.sealed.client` and :mod:`kernaut.sealed.manifest` may be imported.  Inside it there are two sides.
Trusted, the only code that opens the ledger: ``sealing``, ``ledger``, ``families``, ``generation``, ``scan``, ``probe``, ``calibration``,
``journal``, ``book``, ``service``, ``aggregation``.  Untrusted, which sees manifests and answers only: ``runner``, ``episode``, ``policies``
and the confined process in which a policy runs.
"""

from __future__ import annotations
