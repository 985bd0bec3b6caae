"""Prints progress as the tool named by its argument does, with real pauses: python3 progress_formats.py FORMAT."""

import sys
import time


def tqdm_bar(name, total, unit="it", begin=0):
    start = time.time()
    for done in range(begin, total + 1):
        spent = time.time() - start
        rate = f"{done / spent:.2f}{unit}/s" if done and spent > 0 else f"?{unit}/s"
        share = done / total
        bar = "█" * int(share * 10) + " " * (10 - int(share * 10))
        head = f"{name}: " if name else ""
        sys.stderr.write(f"\r{head}{share * 100:3.0f}%|{bar}| {done}/{total} [00:{int(spent):02d}<00:09, {rate}]")
        sys.stderr.flush()
        time.sleep(0.001)
        yield done
    sys.stderr.write("\n")


def tqdm():
    try:
        from tqdm import tqdm as real

        for _ in real(range(60)):
            time.sleep(0.001)
    except ImportError:
        for _ in tqdm_bar("", 60):
            pass


def trainer():
    for done in tqdm_bar("", 90):
        if done and done % 30 == 0:
            for _ in tqdm_bar("", 7):
                pass
            print({"eval_loss": 0.5, "eval_runtime": 0.1, "epoch": done / 30}, flush=True)
        if done and done % 10 == 0:
            print({"loss": 1.5, "learning_rate": 1e-5, "epoch": done / 30}, flush=True)


def lightning():
    for _ in tqdm_bar("Sanity Checking DataLoader 0", 2):
        pass
    for epoch in range(3):
        for _ in tqdm_bar(f"Epoch {epoch}", 20):
            pass
        for _ in tqdm_bar("Validation DataLoader 0", 5):
            pass


def keras():
    for epoch in range(3):
        print(f"Epoch {epoch + 1}/3")
        for done in range(1, 41):
            line = f"{done:2d}/40 [{'=' * (done // 2)}>{'.' * (20 - done // 2)}] - ETA: 0s - loss: 0.5"
            sys.stdout.write("\b" * len(line) + "\r" + line)
            sys.stdout.flush()
            time.sleep(0.001)
        print()
    print("10/10 [==============================] - 0s 1ms/step - loss: 0.4")


def plain():
    for step in range(10, 101, 10):
        print(f"step {step}/100 loss {2 - step / 100:.3f}", flush=True)


def nothing():
    print("loading 3 of 7 shards\nstep by step, 10 times\nall 100% done")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
