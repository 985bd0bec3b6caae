#!/usr/bin/env python3
"""Peak memory and tokens a second of short fine-tunings of models with random weights: a table for plan --predict.

    finetune_probes.py OUT.csv [STEPS]
    finetune_probes.py --train SIZE full|lora SEQ BATCH 0|1     prints steps until it is ended, for plan --probe

Llama's architecture in two sizes, all weights or LoRA, several sequence lengths, with and without checkpointing.
"""
import csv
import gc
import os
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

# hidden, layers, heads, kv heads, ffn
SIZES = {"1.1B": (2048, 22, 32, 4, 5632), "3.0B": (3072, 28, 24, 8, 8192)}
VOCABULARY = 32000
RANK = 16
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = [(size, method, seq, batch, checkpointing)
         for size in SIZES
         for method in ("full", "lora")
         for seq, batch in ((512, 8), (1024, 8), (2048, 4), (4096, 2))
         for checkpointing in (False, True)]


def model_of(size, method, checkpointing):
    hidden, layers, heads, kv_heads, ffn = SIZES[size]
    config = LlamaConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=VOCABULARY,
                         max_position_embeddings=4096, tie_word_embeddings=False,
                         use_cache=False)  # else every pass fills a key-value cache
    with torch.device("cuda"):  # random weights of billions of parameters take a processor a minute
        model = LlamaForCausalLM(config)
    model = model.to(torch.bfloat16)
    if method == "lora":
        model.enable_input_require_grads()
        model = get_peft_model(model, LoraConfig(r=RANK, target_modules=TARGETS))
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.train()


def probe(case, steps):
    size, method, seq, batch, checkpointing = case
    model = model_of(size, method, checkpointing)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()  # building it is no part of the run
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    tokens = torch.randint(0, VOCABULARY, (batch, seq), device="cuda")
    for step in range(steps + 3):
        if step == 3:  # after the caches are warm
            torch.cuda.synchronize()
            begin = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    seconds = time.monotonic() - begin
    free, total = torch.cuda.mem_get_info()  # nothing was given back: this is the peak as nvidia-smi shows it
    return {"speed": batch * seq * steps / seconds, "reserved": torch.cuda.max_memory_reserved(),
            "allocated": torch.cuda.max_memory_allocated(), "device": total - free,
            "trainable": sum(p.numel() for p in trained), "params": sum(p.numel() for p in model.parameters())}


def train(words):
    size, method, seq, batch, checkpointing = words[0], words[1], int(words[2]), int(words[3]), words[4] == "1"
    model = model_of(size, method, checkpointing)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
    tokens = torch.randint(0, VOCABULARY, (batch, seq), device="cuda")
    for step in range(1, 1001):
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        print("step %d/1000 loss %.4f" % (step, loss.item()), flush=True)


def main():
    if sys.argv[1] == "--train":
        train(sys.argv[2:])
        return
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    until = time.monotonic() + 300  # of ten minutes, and the calibration comes after it
    gpu = torch.cuda.get_device_name(0)
    with open(sys.argv[1], "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["key", "quantity", "config", "measured"])
        for case in CASES:
            if time.monotonic() > until:
                break
            size, method, seq, batch, checkpointing = case
            hidden, layers, heads, kv_heads, ffn = SIZES[size]
            try:
                seen = probe(case, steps)
            except Exception as error:  # out of memory, or anything else of one case: the others count
                print("%s: %s" % (case, str(error)[:200]), file=sys.stderr, flush=True)
                continue
            finally:
                gc.collect()
                torch.cuda.empty_cache()
            config = {"gpu": gpu, "n_gpus": 1, "method": method, "hidden": hidden,
                      "layers": layers, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "vocab": VOCABULARY,
                      "seq_len": seq, "micro_batch": batch, "grad_ckpt": checkpointing,
                      "dtype": "bfloat16", "optimizer": "AdamW"}
            if method == "lora":
                config.update(rank=RANK, trainable_params=seen["trainable"])
            # PEFT's table pads its samples: only train_tokens says that these are full. It means reserved memory; what
            # is known of no framework means the device's.
            tokens = {"train_tokens": batch * seq * steps, "steps": steps}
            peft = {"framework": "peft", **config, **tokens}
            if method == "lora":
                peft.update(target_modules=",".join(TARGETS), adapter_fp32=True)
            any_of = {"framework": "transformers", **config}
            name = "%s-%s-s%d-b%d%s" % (size, method, seq, batch, "-ckpt" if checkpointing else "")
            for said, memory in ((peft, "reserved"), (any_of, "device")):
                text = ";".join("%s=%s" % pair for pair in said.items())
                out.writerow([name + "-speed-" + said["framework"], "tokens_s_per_gpu", text, "%.1f" % seen["speed"]])
                out.writerow([name + "-peak-" + said["framework"], "peak_bytes", text, seen[memory]])
            print("%s %s" % (name, seen), flush=True)
            file.flush()


if __name__ == "__main__":
    main()
