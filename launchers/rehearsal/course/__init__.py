"""The course of a rehearsal, from its start to its verdict."""
