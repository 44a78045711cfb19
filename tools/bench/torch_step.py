#!/usr/bin/env python3
"""torch_step: the same training step in eager PyTorch, as one would write it: forward, backward, fused AdamW.

    echo mlp,fp32,512 | python3 tools/bench/torch_step.py --device cpu --steps 5

tools/bench/bench_gpu.c starts this program and asks for one window at a time, in the protocol of tools/bench/reference.h. The
program prints its name and version, then answers each line with the milliseconds of a step: the mean over --steps steps between
two synchronisations, by the host's clock. Models, batches and PyTorch's compiled code stay between windows. Weights are reset,
so that no window trains an already trained model.

Precisions: fp32, with TF32 off; tf32; bf16, by autocast.
"""
import argparse
import math
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(f"absent PyTorch cannot be imported ({error})", flush=True)
    sys.exit(77)

SIZES = {
    "input-dim": 1024, "hidden-dim": 1024, "num-classes": 1000,
    "vocab-size": 8192, "width": 48, "num-heads": 4, "num-topics": 16,
}  # fmt: skip


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    for flag, default in {"steps": 200, "warm-up": 20, **SIZES}.items():
        parser.add_argument("--" + flag, type=int, default=default)
    return parser.parse_args()


class MLP(nn.Sequential):
    """input - hidden - hidden - classes, exact GELU between."""

    def __init__(self, o):
        super().__init__(
            nn.Linear(o.input_dim, o.hidden_dim), nn.GELU(),
            nn.Linear(o.hidden_dim, o.hidden_dim), nn.GELU(),
            nn.Linear(o.hidden_dim, o.num_classes),
        )  # fmt: skip


def attend(q, k, v, mask):
    """q, k, v (T,H,L,D); mask (T,1,1,L), true where a token is valid. Before 2.0 PyTorch had no public function for attention;
    then do as nn.MultiheadAttention did: scale q first and add the mask to the products."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    bias = torch.zeros(mask.shape, device=q.device).masked_fill_(~mask, -math.inf)
    return (q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1) + bias).softmax(-1) @ v


class Transformer(nn.Module):
    """Embedding without positions, one pre-norm block, mean over a sequence's tokens, linear classifier: transformer.c."""

    def __init__(self, o):
        super().__init__()
        self.heads = o.num_heads
        self.embedding = nn.Embedding(o.vocab_size, o.width)
        self.norm1 = nn.LayerNorm(o.width)
        self.qkv = nn.Linear(o.width, 3 * o.width)
        self.join = nn.Linear(o.width, o.width)
        self.norm2 = nn.LayerNorm(o.width)
        self.up = nn.Linear(o.width, 2 * o.width)
        self.down = nn.Linear(2 * o.width, o.width)
        self.classify = nn.Linear(o.width, o.num_topics)

    def forward(self, token, mask):
        """token (T,L); mask (T,L), true where a token is valid."""
        x = self.embedding(token)
        T, L, C = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(T, L, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        attended = attend(q, k, v, mask[:, None, None, :])
        x = x + self.join(attended.transpose(1, 2).reshape(T, L, C))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        valid = mask.unsqueeze(-1)
        return self.classify((x * valid).sum(1) / valid.sum(1))


def mlp_batch(o, samples):
    x = torch.randn(samples, o.input_dim, device=o.device)
    return (x,), torch.randint(o.num_classes, (samples,), device=o.device)


def text_lengths(texts, tokens):
    """Return the lengths as step_text_length() of step_counts.c does."""
    return [tokens - t * (tokens // 2) // max(1, texts - 1) for t in range(texts)]


def text_batch(o, texts, tokens):
    length = torch.tensor(text_lengths(texts, tokens), device=o.device)
    mask = torch.arange(tokens, device=o.device)[None, :] < length[:, None]
    token = torch.randint(1, o.vocab_size, (texts, tokens), device=o.device) * mask  # padding is 0
    return (token, mask), torch.randint(o.num_topics, (texts,), device=o.device)


def adamw(model, rate):
    try:
        return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=True)
    except (RuntimeError, TypeError):  # not on this device, or not in this version
        return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)


class Trainee:
    def __init__(self, o, what, *size):
        self.o = o
        self.model, self.rate = (MLP(o), 1e-3) if what == "mlp" else (Transformer(o), 2e-3)
        self.model.to(o.device)
        self.initial = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.inputs, self.labels = mlp_batch(o, *size) if what == "mlp" else text_batch(o, *size)
        self.parameters = sum(p.numel() for p in self.model.parameters())

    def step(self, is_bf16):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.o.device, torch.bfloat16, enabled=is_bf16):
            loss = F.cross_entropy(self.model(*self.inputs), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def synchronise(self):
        if self.o.device == "cuda":
            torch.cuda.synchronize()

    def window(self, precision):
        """Return the milliseconds of a step."""
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.model.load_state_dict(self.initial)
        self.optimizer = adamw(self.model, self.rate)
        for _ in range(self.o.warm_up):
            self.step(precision == "bf16")
        self.synchronise()
        began = time.perf_counter()
        for _ in range(self.o.steps):
            loss = self.step(precision == "bf16")
        self.synchronise()
        milliseconds = (time.perf_counter() - began) / self.o.steps * 1e3
        if not math.isfinite(loss.item()):
            raise ValueError("the loss is not a number")
        return milliseconds


def parse(line):
    """Return model, precision and sizes of a question."""
    what, precision, *size = line.strip().split(",")
    size = [int(word) for word in size]
    if (what, len(size)) not in {("mlp", 1), ("transformer", 2)} or min(size) < 1:
        raise ValueError(f"'{line.strip()}' is no question")
    if precision not in {"fp32", "tf32", "bf16"}:
        raise ValueError(f"no precision '{precision}'")
    return what, precision, size


def main():
    o = read_options()
    if o.device == "cuda" and not torch.cuda.is_available():
        print(f"absent PyTorch {torch.__version__} finds no GPU", flush=True)
        sys.exit(77)
    torch.manual_seed(2025)
    where = torch.cuda.get_device_name() if o.device == "cuda" else "the CPU"
    print(f"ready PyTorch {torch.__version__} on {where}", flush=True)
    trainees = {}
    for line in sys.stdin:
        try:
            what, precision, size = parse(line)
            if (what, *size) not in trainees:
                trainees[(what, *size)] = Trainee(o, what, *size)
            trainee = trainees[(what, *size)]
            milliseconds = trainee.window(precision)
        except (RuntimeError, ValueError) as error:  # includes out of memory
            reason = str(error).splitlines()[0]
            print(f"absent {reason}", flush=True)
            sys.exit(1)
        print(f"{line.strip()},{trainee.parameters},{milliseconds:.6f}", flush=True)


if __name__ == "__main__":
    main()
