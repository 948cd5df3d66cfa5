"""Train the reference reader and write `reference.onnx`.

    python -m mnistpro_replay.replay.predictors.reference.train --digits-from FOLDER

`FOLDER` holds the MNIST IDX files; only the training digits are read. Needs the extra `train`.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from ....traces.world import load
from . import walks
from .predictor import REPRESENTATION, WEIGHTS

HELD_OUT = 5_000
KNOTS = 11
EMA = 0.998
SKEW = 4.0


def network() -> nn.Sequential:
    """The classifier: float (B, 8, 28, 28) features in [0, 1] to (B, 10) logits."""

    def block(inside: int, outside: int, kernel: int, stride: int) -> list[nn.Module]:
        conv = nn.Conv2d(inside, outside, kernel, stride, kernel // 2, bias=False)
        return [conv, nn.BatchNorm2d(outside), nn.ReLU(inplace=True)]

    return nn.Sequential(
        *block(8, 32, 5, 2),
        *block(32, 64, 3, 1),
        *block(64, 96, 3, 2),
        *block(96, 96, 3, 1),
        *block(96, 32, 1, 1),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 256),
        nn.ReLU(inplace=True),
        nn.Linear(256, 10),
    )


class Calibrated(nn.Module):
    """The shipped graph: uint8 cell counts to probabilities, the temperature by seen area only.

    The temperature is piecewise linear in the seen fraction, with knots at 0, 0.1, ..., 1.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.temperature = nn.Parameter(torch.ones(KNOTS))

    def scale(self, logits: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """Logits (B, 10) divided by the temperature at the seen fraction (B, 1)."""
        knots = torch.arange(KNOTS, dtype=torch.float32)
        weights = (1 - (seen * (KNOTS - 1) - knots).abs()).clamp(min=0)
        return logits / (weights * self.temperature).sum(dim=1, keepdim=True)

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        """Probabilities (B, 10) of uint8 counts (B, 8, 28, 28)."""
        shares = cells.float() / 16
        return self.scale(self.net(shares), shares[:, 4:].mean(dim=(1, 2, 3))[:, None]).softmax(dim=1)


def batches(
    digits: np.ndarray, labels: np.ndarray, n: int, size: int, strength: float, skew: float, seed: int
) -> Iterator:
    """`n` batches of features (float, channels last) and labels, made in the background."""
    prior = walks.mean_ink(digits[:2_000])
    with ThreadPoolExecutor(1) as pool:

        def ask(i: int):
            return pool.submit(walks.batch, digits, labels, prior, size, strength, skew, seed + i)

        waiting = [ask(i) for i in range(min(4, n))]
        for i in range(n):
            cells, answers = waiting.pop(0).result()
            if i + 4 < n:
                waiting.append(ask(i + 4))
            features = torch.from_numpy(cells).to(memory_format=torch.channels_last).float() / 16
            yield features, torch.from_numpy(answers)


def fit(digits: np.ndarray, labels: np.ndarray, args: argparse.Namespace) -> nn.Sequential:
    """Train on `args.panels` panels; returns the exponential average of the weights, in evaluation mode."""
    net = network().to(memory_format=torch.channels_last)
    if args.checkpoint and args.checkpoint.exists():
        net.load_state_dict(torch.load(args.checkpoint))
    average = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=args.decay)
    steps = args.panels // args.batch
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: rate(i / steps))
    began, running = time.monotonic(), 0.0
    for step, (x, y) in enumerate(batches(digits, labels, steps, args.batch, args.strength, SKEW, args.seed)):
        loss = functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        follow(average, net, min(EMA, (1 + step) / (10 + step)))
        running += (loss.item() - running) * (0.002 if step > 500 else 0.05)
        if args.checkpoint and step % 500 == 499:
            torch.save(average.state_dict(), args.checkpoint)
        if step % 200 == 0:
            print(f"step {step}/{steps} loss {running:.4f} {time.monotonic() - began:.0f} s", flush=True)
    if args.checkpoint:
        torch.save(average.state_dict(), args.checkpoint)
    return average.eval()


def rate(done: float) -> float:
    """Learning rate as a share of the highest: a short rise, then a cosine."""
    return min(1.0, done / 0.03) * (0.5 + 0.5 * math.cos(math.pi * done))


@torch.no_grad()
def follow(average: nn.Module, net: nn.Module, keep: float) -> None:
    """Move the averaged weights (and running statistics) towards the trained ones."""
    for slow, fast in zip(average.state_dict().values(), net.state_dict().values(), strict=True):
        if slow.dtype.is_floating_point:
            slow.lerp_(fast, 1 - keep)


def calibrate(model: Calibrated, digits: np.ndarray, labels: np.ndarray, n: int, seed: int) -> None:
    """Fit the temperatures on held-out digits by likelihood; every tenth of the seen area weighs the same."""
    size = 500
    collected = []
    with torch.no_grad():
        for x, y in batches(digits, labels, n // size, size, 0.0, 1.0, seed):
            collected.append((model.net(x), x[:, 4:].mean(dim=(1, 2, 3))[:, None], y))
    logits, seen, answers = (torch.cat(part) for part in zip(*collected, strict=True))
    tenth = (seen[:, 0] * 10).long().clamp(max=9)
    weight = (1 / tenth.bincount(minlength=10).clamp(min=1).float())[tenth]
    optimizer = torch.optim.LBFGS([model.temperature], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model.scale(logits, seen), answers, reduction="none")
        total = (loss * weight).sum() / weight.sum()
        total.backward()
        return total

    optimizer.step(closure)
    print("temperatures", [round(t, 3) for t in model.temperature.tolist()], tenth.bincount().tolist())


def folded(net: nn.Sequential) -> nn.Sequential:
    """The network with batch normalisation folded into the convolutions."""
    layers: list[nn.Module] = []
    for layer in net.eval():
        if isinstance(layer, nn.BatchNorm2d):
            layers[-1] = fuse_conv_bn_eval(layers[-1], layer)
        else:
            layers.append(layer)
    return nn.Sequential(*layers)


def export(model: Calibrated, path: Path) -> None:
    """Write the graph, large weights as float16 (cast back when the session loads them)."""
    shipped = copy.deepcopy(model).to(memory_format=torch.contiguous_format).eval()
    shipped.net = folded(shipped.net)
    example = torch.zeros(2, 8, 28, 28, dtype=torch.uint8)
    torch.onnx.export(
        shipped,
        (example,),
        str(path),
        input_names=["cells"],
        output_names=["probabilities"],
        dynamic_axes={"cells": {0: "panels"}, "probabilities": {0: "panels"}},
        opset_version=17,
        dynamo=False,
    )
    graph = onnx.load(path)
    halve(graph.graph)
    graph.doc_string = f"mnistpro_replay reference reader, {REPRESENTATION}"
    onnx.checker.check_model(graph)
    onnx.save(graph, path)


def halve(graph: onnx.GraphProto) -> None:
    """Store initialisers of over 1,000 numbers as float16, each with a cast."""
    for tensor in list(graph.initializer):
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size <= 1_000:
            continue
        graph.initializer.remove(tensor)
        graph.initializer.append(
            onnx.numpy_helper.from_array(values.astype(np.float16), tensor.name + ".half")
        )
        cast = onnx.helper.make_node(
            "Cast", [tensor.name + ".half"], [tensor.name], to=onnx.TensorProto.FLOAT
        )
        graph.node.insert(0, cast)


def main() -> None:
    """Train, calibrate, export."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--digits-from", type=Path, required=True, help="folder of the MNIST IDX files")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where to write the weights")
    parser.add_argument("--panels", type=int, default=4_600_000, help="masked panels to train on")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lr", type=float, default=1.5e-3, help="highest learning rate")
    parser.add_argument("--decay", type=float, default=0.02, help="weight decay")
    parser.add_argument("--strength", type=float, default=0.5, help="of the digits' perturbation")
    parser.add_argument("--checkpoint", type=Path, help="state to go on from, where it exists, and to keep")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    digits = load(args.digits_from, "train")
    order = np.random.default_rng(args.seed).permutation(len(digits.images))
    labels = digits.labels.astype(np.int64)
    held, kept = order[:HELD_OUT], order[HELD_OUT:]
    model = Calibrated(fit(digits.images[kept], labels[kept], args))
    calibrate(model, digits.images[held], labels[held], 120_000, args.seed + 10_000_000)
    export(model, args.out)


if __name__ == "__main__":
    main()
