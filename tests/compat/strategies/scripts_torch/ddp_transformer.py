"""A small language model with groups of parameters of their own decay, clipped gradients, DDP."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORDS, LENGTH, WIDTH = 32, 12, 16


class Language(nn.Module):
    """Tokens of shape (batch, LENGTH) to logits of shape (batch, LENGTH, WORDS)."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(torch.zeros(1, LENGTH, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 4 * WIDTH, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.head(self.blocks(self.words(tokens) + self.places, mask=mask))


def optimizer_of(model):
    decayed = [one for one in model.parameters() if one.dim() > 1]
    others = [one for one in model.parameters() if one.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["LOCAL_RANK"]) + int(os.environ["RANK"])
    model = DDP(Language())
    optimizer = optimizer_of(model)
    draw = torch.Generator().manual_seed(rank)
    for _step in range(6):
        text = torch.randint(WORDS, (8, LENGTH + 1), generator=draw)
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"loss {loss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
