"""What is kept on this machine: the ledger, names, nonces, locks."""
