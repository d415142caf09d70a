"""A job's spec inside another tool's document: where it lies, how it is read, where its places are.

Knows no provider and no tool: those are the wrappings that a provider's Reader has.
"""
