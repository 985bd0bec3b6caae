#!/usr/bin/env python3
"""Peak memory and tokens a second of short fine-tunings of models with random weights: a table for plan --predict.

    finetune_probes.py OUT.csv [STEPS]

Llama's architecture in two sizes, all weights or LoRA, several sequence lengths, with and without checkpointing.
"""
import csv
import gc
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

# hidden, layers, heads, kv heads, ffn
SIZES = {"1.1B": (2048, 22, 32, 4, 5632), "3.2B": (3072, 28, 24, 8, 8192)}
VOCABULARY = 32000
CASES = [(size, method, seq, batch, checkpointing)
         for size in SIZES
         for method in ("full", "lora")
         for seq, batch in ((512, 8), (2048, 4))
         for checkpointing in (False, True)]


def model_of(size, method, checkpointing):
    hidden, layers, heads, kv_heads, ffn = SIZES[size]
    config = LlamaConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=VOCABULARY,
                         max_position_embeddings=4096, tie_word_embeddings=False)
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    if method == "lora":
        targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
        model.enable_input_require_grads()
        model = get_peft_model(model, LoraConfig(r=16, target_modules=targets))
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.train()


def probe(case, steps):
    size, method, seq, batch, checkpointing = case
    model = model_of(size, method, checkpointing)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
    tokens = torch.randint(0, VOCABULARY, (batch, seq), device="cuda")
    for step in range(steps + 3):
        if step == 3:  # after the caches are warm
            torch.cuda.synchronize()
            begin = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return batch * seq * steps / (time.monotonic() - begin), torch.cuda.max_memory_reserved()


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    gpu = torch.cuda.get_device_name(0)
    with open(sys.argv[1], "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["key", "quantity", "config", "measured"])
        for case in CASES:
            size, method, seq, batch, checkpointing = case
            hidden, layers, heads, kv_heads, ffn = SIZES[size]
            torch.cuda.reset_peak_memory_stats()
            try:
                speed, peak = probe(case, steps)
            except torch.cuda.OutOfMemoryError:
                continue
            finally:
                gc.collect()
                torch.cuda.empty_cache()
            config = {"framework": "peft", "gpu": gpu, "n_gpus": 1, "method": method, "hidden": hidden,
                      "layers": layers, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "vocab": VOCABULARY,
                      "seq_len": seq, "micro_batch": batch, "grad_ckpt": checkpointing, "rank": 16,
                      "dtype": "bfloat16", "optimizer": "AdamW"}
            text = ";".join("%s=%s" % pair for pair in config.items())
            name = "%s-%s-s%d-b%d%s" % (size, method, seq, batch, "-ckpt" if checkpointing else "")
            out.writerow([name + "-speed", "tokens_s_per_gpu", text, "%.1f" % speed])
            out.writerow([name + "-peak", "peak_bytes", text, peak])
            file.flush()


if __name__ == "__main__":
    main()
