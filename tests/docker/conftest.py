"""Fixtures of the engine's tests: those of the rehearsals, which it carries."""

from __future__ import annotations

from tests.rehearsal.conftest import base, client, home

__all__ = ["base", "client", "home"]
