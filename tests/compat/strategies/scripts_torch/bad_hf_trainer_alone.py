"""transformers' Trainer without the variables of the ranks: one process each."""

import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
    os.environ.pop(name, None)
config = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=16,
)
words = torch.randint(1, 50, (48, 12))
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=TrainingArguments(
        output_dir="out", use_cpu=True, max_steps=4, report_to=[], save_strategy="no"
    ),
    train_dataset=[{"input_ids": one, "labels": int(one.sum() > 300)} for one in words],
)
trainer.train()
