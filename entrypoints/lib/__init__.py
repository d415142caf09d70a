"""What the shared training scripts have in common; each module has one subject."""
