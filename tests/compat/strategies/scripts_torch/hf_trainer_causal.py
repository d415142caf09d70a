"""transformers' Trainer with a tiny GPT-2, a checkpoint while it trains, and the model saved."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

config = GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2)
draw = torch.Generator().manual_seed(5)
words = torch.randint(40, (64, 16), generator=draw)
trainer = Trainer(
    model=GPT2LMHeadModel(config),
    args=TrainingArguments(
        output_dir="out",
        use_cpu=True,
        max_steps=6,
        per_device_train_batch_size=4,
        save_steps=3,
        report_to=[],
        disable_tqdm=True,
    ),
    train_dataset=[{"input_ids": one, "labels": one} for one in words],
)
trainer.train()
trainer.save_model("final")
