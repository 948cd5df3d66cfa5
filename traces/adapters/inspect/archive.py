"""Members of an `.eval` file: a zip that may be compressed with Zstandard, name members twice, or lack its end."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from ....schemas.extras import require

_ZSTD = 93
_LOCAL = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END, _END_64, _LOCATOR_64 = struct.Struct("<4s4H2IH"), struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")
_LONGEST_COMMENT = 0xFFFF
_IN_EXTRA = 0xFFFFFFFF
_UTF8 = 0x800


class Entry(NamedTuple):
    """What the directory says of a member; `size` is in the entry itself, `packed` in the file."""

    name: str
    method: int
    crc: int
    packed: int
    offset: int
    size: int


class Archive:
    """An `.eval` file opened for reading.

    Where a name occurs twice the last one counts. The standard library reads Zstandard members from Python 3.14 on,
    and holds some 800 bytes for each member: here they are decompressed by the package of the extra, and only their
    names and places in the directory are kept.

    Raises:
        zipfile.BadZipFile: where the file has no directory (cut off) or is no zip.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[str, int] = {}
        self.duplicates: list[str] = []
        place, end, self._shift = _find_directory(file)
        while place < end:
            entry = self._entry(place)
            if entry.name in self._places:
                self.duplicates.append(entry.name)
                # The place of the last one, so that members come in the order in which they were written.
                del self._places[entry.name]
            self._places[entry.name] = place
            place += entry.size

    def names(self) -> list[str]:
        """Names of the members, each once, in the order of the file."""
        return list(self._places)

    def read(self, name: str) -> bytes:
        """A member's bytes.

        Raises:
            KeyError: without such a member.
            MissingExtra: for a Zstandard member without the extra `inspect`.
            zipfile.BadZipFile: where the member is damaged.
        """
        entry = self._entry(self._places[name])
        header = _unpack(self._file, _LOCAL, entry.offset + self._shift, b"PK\x03\x04")
        self._file.seek(header[-2] + header[-1], io.SEEK_CUR)
        data = _inflate(self._file.read(entry.packed), entry.method, name)
        if zlib.crc32(data) != entry.crc:
            raise zipfile.BadZipFile(f"{name}: the checksum does not fit")
        return data

    def _entry(self, place: int) -> Entry:
        fields = _unpack(self._file, _ENTRY, place, b"PK\x01\x02")
        method, crc, packed, plain, name_size, extra_size, comment_size = (*fields[4:5], *fields[7:13])
        name = self._file.read(name_size).decode("utf-8" if fields[3] & _UTF8 else "cp437", "replace")
        offset = fields[-1]
        if _IN_EXTRA in (packed, plain, offset):
            wide = _wide_fields(self._file.read(extra_size))
            plain, packed, offset = (
                next(wide, 0) if value == _IN_EXTRA else value for value in (plain, packed, offset)
            )
        size = _ENTRY.size + name_size + extra_size + comment_size
        return Entry(name, method, crc, packed, offset, size)


def _unpack(file: BinaryIO, layout: struct.Struct, place: int, magic: bytes) -> tuple[Any, ...]:
    file.seek(max(0, place))
    data = file.read(layout.size)
    if place < 0 or len(data) < layout.size or not data.startswith(magic):
        raise zipfile.BadZipFile(f"no record {magic!r} at byte {place}")
    return layout.unpack(data)


def _wide_fields(extra: bytes) -> Iterator[int]:
    """Numbers of the ZIP64 field, in its order."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == 1:
            yield from struct.unpack_from(f"<{min(size, len(extra) - 4) // 8}Q", extra, 4)
            return
        extra = extra[4 + size :]


def _find_directory(file: BinaryIO) -> tuple[int, int, int]:
    """Where the directory begins and ends, and how many bytes stand before the zip."""
    length = file.seek(0, io.SEEK_END)
    start = max(0, length - _END.size - _LONGEST_COMMENT)
    file.seek(start)
    at = file.read().rfind(b"PK\x05\x06")
    if at < 0:
        raise zipfile.BadZipFile("its end is missing")
    end = start + at
    size, offset = _unpack(file, _END, end, b"PK\x05\x06")[5:7]
    file.seek(max(0, end - _LOCATOR_64.size))
    if file.read(4) == b"PK\x06\x07":
        # The record of the wide numbers ends where its locator begins.
        end -= _LOCATOR_64.size + _END_64.size
        size, offset = _unpack(file, _END_64, end, b"PK\x06\x06")[-2:]
    return end - size, end, end - size - offset


def _inflate(data: bytes, method: int, name: str) -> bytes:
    if method == zipfile.ZIP_STORED:
        return data
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompress(data, -15)
    if method != _ZSTD:
        raise zipfile.BadZipFile(f"{name}: compression method {method}")
    zstandard = require("zstandard", "inspect")
    # A member may be several frames, one after another.
    return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).readall()
