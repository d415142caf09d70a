"""What the ranks' data costs: delivering, decoding, converting, augmenting; beside peers."""
