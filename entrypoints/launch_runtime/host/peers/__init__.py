"""How the job's agents speak with each other, and with nobody else.

``signatures``, ``counters``, ``wire``, ``waiting_room`` and ``keys`` decide, without sockets and
without a clock; ``door``, ``rendezvous``, ``first_host`` and ``ranks_door`` move the bytes.
"""
