"""transformers' Trainer with bfloat16, on a tiny BERT whose configuration stands here."""

import one_gpu  # noqa: F401 - gives each rank a host of its own
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 16,
}


def texts(count):
    draw = torch.Generator().manual_seed(3)
    words = torch.randint(1, 50, (count, 12), generator=draw)
    return [{"input_ids": one, "labels": int(one.sum() > 300)} for one in words]


def main():
    arguments = TrainingArguments(
        output_dir="out",
        bf16=True,
        num_train_epochs=1,
        per_device_train_batch_size=8,
        report_to=[],
        save_strategy="no",
        logging_steps=2,
        disable_tqdm=True,
    )
    model = BertForSequenceClassification(BertConfig(**SIZES, num_labels=2))
    trainer = Trainer(model=model, args=arguments, train_dataset=texts(96), eval_dataset=texts(32))
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
