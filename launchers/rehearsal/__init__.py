"""Containers on this machine that keep a provider's contract with its containers, and their image.

Knows no provider: what a host of a job sees comes from the provider's ``contract``. Everything
that talks to the Docker engine is here; engine.py connects to it.
"""
