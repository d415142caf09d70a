"""What a rank sees of its own training: which variables were trained, and what was exchanged.

``tensorflow`` and ``torch`` put hooks where a framework computes gradients and applies them,
``horovod`` where tensors go to other ranks; ``collector`` keeps what they say, ``fingerprints``
makes weights comparable. No graph is changed, and inside a ``tf.function`` nothing runs at a step.
"""

# What a hook may be in the middle of: an optimizer changes its variables; Horovod reduces gradients
# whose variables are known; a tape computes gradients.
APPLYING, REDUCING, COMPUTING = "applying", "reducing", "computing"
BROADCAST = "broadcast"  # in the place of a group: what came is one rank's value


def is_looked_at(count: int) -> bool:
    """Whether a step is one of those at which something is read: the first ones, and then ever more
    rarely."""
    return count <= 4 or count & (count - 1) == 0
