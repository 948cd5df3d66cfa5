"""Episodes in a Minari dataset's files, read without Minari: HDF5 through h5py, Arrow and Parquet through pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....schemas import Diagnostic
from ....schemas.extras import require
from ..bundle import Bundle
from ..json_text import BadJson, loads
from ..transcripts import read_json


@dataclass
class StoredEpisode:
    """One episode: n actions, n + 1 observations (arrays, lists of encoded pictures, or mappings of them)."""

    number: int
    observations: Any
    actions: list[Any]
    rewards: Any = ()
    truncated: bool = False
    seed: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def reward(self, number: int) -> float | None:
        """The reward of an action, None where there is none."""
        return float(self.rewards[number]) if number < len(self.rewards) else None


def episodes(
    bundle: Bundle, root: str, metadata: Mapping[str, Any], problems: list[Diagnostic]
) -> Iterator[StoredEpisode]:
    """Episodes in order; one that cannot be read is reported and left out.

    Raises:
        MissingExtra: for HDF5 without the extra `minari`.
    """
    spaces = [_space(metadata.get(name)) for name in ("observation_space", "action_space")]
    if metadata.get("data_format") in ("arrow", "parquet"):
        yield from _arrow(bundle, root, spaces, problems)
    else:
        yield from _hdf5(bundle, f"{root}main_data.hdf5", problems)


def _space(value: Any) -> Any:
    try:
        return loads(value.encode())[0] if isinstance(value, str) else value
    except BadJson:
        return None


def _hdf5(bundle: Bundle, name: str, problems: list[Diagnostic]) -> Iterator[StoredEpisode]:
    h5py = require("h5py", "minari")
    with bundle.open(name) as raw, h5py.File(raw, "r") as file:
        names = sorted(
            (key for key in file if key.startswith("episode_")),
            key=lambda key: int(key.removeprefix("episode_")),
        )
        for key in names:
            try:
                yield _from_group(file[key], int(key.removeprefix("episode_")))
            except (KeyError, ValueError, OSError) as error:
                problems.append(
                    Diagnostic(code="record_skipped", message=str(error)[:300], path=f"{name}/{key}")
                )


def _from_group(group: Any, number: int) -> StoredEpisode:
    actions = _plain(_load(group["actions"]))
    options = {k.split("/", 1)[1]: _text(v) for k, v in group.attrs.items() if k.startswith("options/")}
    seed = group.attrs.get("seed")
    truncations = group["truncations"][()] if "truncations" in group else np.zeros(0)
    rewards = group["rewards"][()] if "rewards" in group else ()
    observations = _load(group["observations"])
    truncated = bool(len(truncations) and truncations[-1])
    return StoredEpisode(
        number, observations, actions, rewards, truncated, None if seed is None else int(seed), options
    )


def _load(node: Any) -> Any:
    """A dataset as an array, or as a list of bytes or text; a group as a mapping, or as a tuple."""
    if hasattr(node, "keys"):
        if "_index_0" in node:
            return tuple(_load(node[f"_index_{i}"]) for i in range(len(node.keys())))
        return {key: _load(node[key]) for key in node}
    values = node[()]
    # JPEG files of equal length come as a table of bytes.
    is_jpeg = values.ndim == 2 and values.dtype == np.uint8 and bytes(values[0, :3]) == b"\xff\xd8\xff"
    if values.dtype.kind in "OSV" or is_jpeg:
        return [_picture_or_text(value) for value in values]
    return values


def _picture_or_text(value: Any) -> Any:
    data = value.tobytes() if isinstance(value, (np.ndarray, np.void)) else value
    if isinstance(data, bytes) and not data.startswith((b"\xff\xd8\xff", b"\x89PNG")):
        return data.decode("utf-8", "replace")
    return data


def _text(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(values: Any) -> list[Any]:
    """Actions one by one: numbers, texts, or mappings of them."""
    if isinstance(values, dict):
        columns = {key: _plain(value) for key, value in values.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _arrow(
    bundle: Bundle, root: str, spaces: list[Any], problems: list[Diagnostic]
) -> Iterator[StoredEpisode]:
    folders: dict[int, list[str]] = {}
    for name in bundle.names():
        folder, _, file = name.removeprefix(root).partition("/")
        if folder.isdigit() and file.endswith((".arrow", ".parquet")):
            folders.setdefault(int(folder), []).append(name)
    for number, files in sorted(folders.items()):
        try:
            yield _from_table(bundle, root, number, files, spaces)
        except (KeyError, ValueError, OSError) as error:
            problems.append(
                Diagnostic(code="record_skipped", message=str(error)[:300], path=f"{root}{number}")
            )


def _from_table(bundle: Bundle, root: str, number: int, files: list[str], spaces: list[Any]) -> StoredEpisode:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for name in files:
        data = io.BytesIO(bundle.read(name))
        tables.append(pq.read_table(data) if name.endswith(".parquet") else pa.ipc.open_file(data).read_all())
    table = pa.concat_tables(tables)
    metadata = read_json(bundle, f"{root}{number}/metadata.json", []) or {}
    # All columns are padded to the length of the observations: one more than there were actions.
    n = len(table) - 1
    observations = _column(table["observations"].combine_chunks(), spaces[0])
    actions = _plain(_column(table["actions"].combine_chunks(), spaces[1]))[:n]
    rewards, truncations = (table[name].to_pylist()[:n] for name in ("rewards", "truncations"))
    options = metadata.get("options") or {}
    return StoredEpisode(
        number, observations, actions, rewards, bool(n and truncations[-1]), metadata.get("seed"), options
    )


def _column(values: Any, space: Any) -> Any:
    """A column as arrays by its space's shape, encoded pictures as a list of bytes."""
    import pyarrow as pa

    if pa.types.is_struct(values.type):
        inner = (space or {}).get("subspaces") or {}
        if isinstance(inner, list):
            inner = {str(i): item for i, item in enumerate(inner)}
        names = [values.type.field(i).name for i in range(values.type.num_fields)]
        return {name: _column(values.field(name), inner.get(name)) for name in names}
    if pa.types.is_fixed_size_list(values.type):
        flat = values.flatten().to_numpy(zero_copy_only=False)
        shape = (space or {}).get("shape") or (values.type.list_size,)
        return flat.reshape(len(values), *shape)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return values.to_numpy(zero_copy_only=False)
    return values.to_pylist()
