"""Who is told of a run: MLflow, TensorBoard, both or nobody.

A tracker is told by rank 0 alone. It never stops a training and never holds up a step: what it is
told goes into a queue that a thread of its own empties (:mod:`lib.tracking.sender`).
"""
