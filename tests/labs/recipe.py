"""Print what 05_token_skew --print-batches must print, with CPython's random numbers. Takes the same flags.

The recipe is the published one, implemented independently of common/model/tokens.c. tools/bench/torch_labs.py trains on
these batches."""
import argparse
import math
import random


def read_options(words=None):
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("ranks", 4), ("batch-size", 8), ("steps", 12), ("skip-first-steps", 2), ("seed", 2026),
                          ("min-seq-len", 64), ("max-seq-len", 256), ("fixed-seq-len", 128),
                          ("max-tokens-per-batch", 1280), ("num-classes", 16)):
        flags.add_argument("--" + name, type=int, default=default)
    flags.add_argument("--outlier-prob", type=float, default=0.08)
    flags.add_argument("--strategy", default="all")
    flags.add_argument("--length-mode", default="both")
    return flags.parse_args(words)


def draw_texts(f, mode):
    """Draw lengths and labels of all sequences."""
    rng = random.Random(f.seed)
    lengths, labels = [], []
    for _ in range(max(f.steps * f.batch_size * f.ranks * 8, f.max_tokens_per_batch * f.ranks // 32)):
        length = f.fixed_seq_len
        if mode == "variable":
            length = round(math.exp(rng.uniform(math.log(f.min_seq_len), math.log(f.max_seq_len))))
            if rng.random() < f.outlier_prob:
                length = f.max_seq_len
            length = max(f.min_seq_len, min(f.max_seq_len, length))
        labels.append(rng.randrange(f.num_classes))
        lengths.append(length)
    return lengths, labels


def batches_of(f, rank, strategy, lengths):
    """Return the sequence numbers of each batch of a rank; step t uses batch t modulo the number of batches."""
    rng = random.Random(f.seed + 17)
    texts = list(range(len(lengths)))
    rng.shuffle(texts)
    share = texts[rank::f.ranks]
    if strategy != "sample":
        share.sort(key=lambda text: lengths[text])
    if strategy != "token":
        batches = [share[i:i + f.batch_size] for i in range(0, len(share), f.batch_size)]
    else:
        batches, batch, longest = [], [], 0
        for text in share:
            if batch and max(longest, lengths[text]) * (len(batch) + 1) > f.max_tokens_per_batch:
                batches.append(batch)
                batch, longest = [], 0
            batch.append(text)
            longest = max(longest, lengths[text])
        batches.append(batch)
    if strategy != "sample":
        rng.shuffle(batches)
    return batches


def print_case(f, mode, strategy):
    lengths, _ = draw_texts(f, mode)
    ranks = [batches_of(f, rank, strategy, lengths) for rank in range(f.ranks)]
    for step in range(f.steps):
        for rank, batches in enumerate(ranks):
            batch = [lengths[text] for text in batches[step % len(batches)]]
            print(f"{mode}_{strategy}_ws4", step, rank, sum(batch), max(batch) * len(batch), len(batch), max(batch),
                  sep=",")


def main():
    f = read_options()
    print("case,step,rank,useful_tokens,padded_tokens,samples,max_len")
    if f.length_mode != "variable" and f.strategy == "all":
        print_case(f, "fixed", "sample")
    elif f.length_mode == "fixed":
        print_case(f, "fixed", f.strategy)
    if f.length_mode != "fixed":
        for each in ("sample", "bucket", "token"):
            if f.strategy in ("all", each):
                print_case(f, "variable", each)


if __name__ == "__main__":
    main()
