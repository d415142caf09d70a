"""PyTorch Lightning: its Trainer starts and joins processes of its own."""

from __future__ import annotations

from launchers.core.strategies import Strategy

# Up to 1.9 a Trainer took strategy="horovod", which may stand in a configuration file.
STRATEGIES = [
    Strategy(
        "Lightning",
        (r"pytorch_lightning", r"lightning", r"lightning_fabric"),
        'Lightning up to 1.9 trains by Horovod with Trainer(strategy="horovod"), Lightning 2 with '
        "lightning-horovod's HorovodStrategy",
    )
]
