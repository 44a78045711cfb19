"""usage: torch_tokens.py SHARD TOKENS WORKERS BATCHES: seconds of a batch from PyTorch's usual loader of tokens.

As in nanoGPT: a memory map of uint16, rows copied to int64 and stacked. 8 rows a batch, read in order. With workers, a DataLoader
fetches them; each batch comes from one worker. Prints the mean over the batches after the first ten.
"""
import sys
import time

import numpy as np
import torch


class Rows(torch.utils.data.IterableDataset):
    """Batches of a shard, dealt out to workers in turn."""

    def __init__(self, path, tokens):
        self.path, self.tokens = path, tokens

    def __iter__(self):
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        info = torch.utils.data.get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        length = self.tokens // 8
        for begin in range(worker * self.tokens, len(data) - self.tokens - 1, workers * self.tokens):
            rows = [begin + i * length for i in range(8)]
            x = torch.stack([torch.from_numpy(data[i : i + length].astype(np.int64)) for i in rows])
            y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + length].astype(np.int64)) for i in rows])
            yield x, y


def main():
    """Time the batches."""
    path, tokens, workers, batches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    loader = iter(torch.utils.data.DataLoader(Rows(path, tokens), batch_size=None, num_workers=workers))
    for _ in range(10):
        next(loader)
    begin = time.perf_counter()
    for _ in range(batches):
        next(loader)
    print((time.perf_counter() - begin) / batches)


main()
