"""Prompts: versioned text files, replaceable as a folder, told apart by hash."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template


class Prompts:
    """The prompt files of this package, or those of a folder where it has a file of the same name.

    Files are `string.Template` texts: `$name` stands for a value, `$$` for a dollar sign.

    Args:
        folder: the user's folder; None for the built-in texts alone.

    Raises:
        ValueError: for a folder that is none, or holds a `.txt` file of a name that no prompt has.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._texts = {
            file.name: file.read_text(encoding="utf-8")
            for file in (files(__package__ or "") / "prompts").iterdir()
            if file.name.endswith(".txt")
        }
        if folder is None:
            return
        if not folder.is_dir():
            raise ValueError(f"no prompt folder {folder}")
        own = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
        if not own or own.keys() - self._texts.keys():
            wrong = ", ".join(sorted(own.keys() - self._texts.keys())) or "no .txt file"
            raise ValueError(f"{folder}: {wrong}; prompt files are {', '.join(sorted(self._texts))}")
        self._texts |= own

    def text(self, name: str, **values: object) -> str:
        """The text of a prompt file (without its ending), filled in, without the newline at its end.

        Raises:
            KeyError: for an unknown file, or a place in it that no value fills.
        """
        return Template(self._texts[f"{name}.txt"]).substitute(values).rstrip("\n")

    def hash(self, *names: str) -> str:
        """Hash over some prompt files, as stored beside what they led to."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(f"{name}\0{self._texts[f'{name}.txt']}\0".encode())
        return digest.hexdigest()[:16]
