"""MNIST digits: an embedded sample, or the full set from the user's files. Nothing is ever downloaded."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

Split = Literal["test", "train"]

_IDX_NAMES = {"test": "t10k", "train": "train"}
MD5 = {
    ("test", "images"): "2646ac647ad5339dbf082846283269ea",
    ("test", "labels"): "27ae3e4e09519cfbb04c329615203637",
    ("train", "images"): "6bbc9ace898e44ae57da46a324031adb",
    ("train", "labels"): "a25bea736e30d166cdddb491f175f624",
}
"""md5 of the uncompressed original IDX files."""


@dataclass(frozen=True)
class Digits:
    """Digits by their index in the original set.

    Args:
        index: int array (n,), sorted original indices.
        images: uint8 array (n, 28, 28), white on black.
        labels: uint8 array over the whole original set, also for digits whose image is not here.
        name: where they come from.
        genuine: whether they are known to be the original set in the original order.
    """

    index: np.ndarray
    images: np.ndarray
    labels: np.ndarray
    name: str
    genuine: bool = True

    @property
    def complete(self) -> bool:
        """Whether every digit of the original set has its image here."""
        return len(self.index) == len(self.labels)

    def has(self, index: int) -> bool:
        """Whether the image of that original index is here."""
        at = np.searchsorted(self.index, index)
        return bool(at < len(self.index) and self.index[at] == index)

    def image(self, index: int) -> np.ndarray:
        """The uint8 (28, 28) image of an original index; KeyError where it is not here."""
        if not self.has(index):
            raise KeyError(f"digit {index} is not among the {len(self.index):,} digits of {self.name}")
        return self.images[np.searchsorted(self.index, index)]


@cache
def embedded(split: Split = "test") -> Digits:
    """The bundled sample: 1,000 test digits with all 10,000 labels, or 1,000 training digits."""
    with (files(__package__ or "") / "data" / f"mnist_{split}_1000.npz").open("rb") as file:
        data = np.load(file)
        index, images = data["index"], data["images"]
        if split == "test":
            return Digits(index, images, data["labels_all"], "the embedded sample")
        labels = np.full(60_000, 255, dtype=np.uint8)
        labels[index] = data["labels"]
        order = np.argsort(index)
        return Digits(index[order], images[order], labels, "the embedded training sample")


def load(path: Path | str, split: Split = "test") -> Digits:
    """The full set from IDX files, a torchvision root (`MNIST/raw`) or an `.npz` of Keras' layout.

    Raises:
        FileNotFoundError: where no such file is under `path`.
        ValueError: where a file is not what its name says.
    """
    path = Path(path)
    if path.suffix == ".npz":
        images, labels = _from_npz(path, split)
    else:
        images, labels = _from_idx(path, split)
    if images.ndim != 3 or images.shape[1:] != (28, 28) or len(images) != len(labels):
        raise ValueError(
            f"{path}: expected n 28x28 images and n labels, found {images.shape} and {labels.shape}"
        )
    header = np.array([0x803, len(images), 28, 28], dtype=">u4").tobytes()
    genuine = hashlib.md5(header + images.tobytes()).hexdigest() == MD5[split, "images"]
    return Digits(np.arange(len(images)), images, labels.astype(np.uint8), str(path), genuine)


def _from_npz(path: Path, split: Split) -> tuple[np.ndarray, np.ndarray]:
    data = np.load(path, allow_pickle=False)
    try:
        return data[f"x_{split}"], data[f"y_{split}"]
    except KeyError as error:
        raise ValueError(f"{path}: no x_{split} and y_{split} inside, only {', '.join(data)}") from error


def _from_idx(root: Path, split: Split) -> tuple[np.ndarray, np.ndarray]:
    images = _read_idx(_find(root, f"{_IDX_NAMES[split]}-images*idx3-ubyte"), 0x803, 16)
    labels = _read_idx(_find(root, f"{_IDX_NAMES[split]}-labels*idx1-ubyte"), 0x801, 8)
    return images.reshape(-1, 28, 28), labels


def _find(root: Path, pattern: str) -> Path:
    for folder in (root, root / "raw", root / "MNIST" / "raw"):
        for found in sorted([*folder.glob(pattern), *folder.glob(pattern + ".gz")]):
            return found
    raise FileNotFoundError(f"no {pattern}[.gz] under {root}, its raw/ or its MNIST/raw/")


def _read_idx(path: Path, magic: int, offset: int) -> np.ndarray:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if int.from_bytes(data[:4], "big") != magic:
        raise ValueError(f"{path}: not an IDX file of the expected kind")
    return np.frombuffer(data, np.uint8, offset=offset)
