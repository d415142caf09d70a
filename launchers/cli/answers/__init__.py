"""The shapes of the ``--json`` answers: what is printed, its schema and its documentation.

A shape is a TypedDict; what a field means stands beside it. The code that makes an answer is
checked against it by mypy, and imports it for that alone.
"""
