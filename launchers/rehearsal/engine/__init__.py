"""Containers, networks and volumes on the engine, and what is left of them."""
