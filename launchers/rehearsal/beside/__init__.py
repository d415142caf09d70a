"""What stands beside the containers: object stores, tokens, metadata."""
