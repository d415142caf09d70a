"""The gate: which SDKs are installed, and whether they serve."""
