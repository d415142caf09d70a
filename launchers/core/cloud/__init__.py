"""What every paid service shares: sending once, following, upload, preflight."""
