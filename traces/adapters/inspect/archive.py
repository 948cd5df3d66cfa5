"""Members of an `.eval` file: a zip that may be compressed with Zstandard, name members twice, or lack its end."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import BinaryIO

from ....schemas.extras import require

_ZSTD = 93
_LOCAL = struct.Struct("<4s5H3I2H")
_MAGIC = b"PK\x03\x04"


class Archive:
    """An `.eval` file opened for reading.

    Where a name occurs twice the last one counts. The standard library reads Zstandard members from Python 3.14 on;
    here they are decompressed by the package of the extra, on every version.

    Raises:
        zipfile.BadZipFile: where the file has no directory (cut off) or is no zip.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        self.duplicates: list[str] = []
        for info in zipfile.ZipFile(file).infolist():
            if info.filename in self._members:
                self.duplicates.append(info.filename)
                # The place of the last one, so that members come in the order in which they were written.
                del self._members[info.filename]
            self._members[info.filename] = info

    def names(self) -> list[str]:
        """Names of the members, each once, in the order of the file."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """A member's bytes.

        Raises:
            KeyError: without such a member.
            MissingExtra: for a Zstandard member without the extra `inspect`.
            zipfile.BadZipFile: where the member is damaged.
        """
        info = self._members[name]
        self._file.seek(info.header_offset)
        header = _LOCAL.unpack(self._file.read(_LOCAL.size))
        if header[0] != _MAGIC:
            raise zipfile.BadZipFile(f"{name}: no member where the directory says")
        self._file.seek(header[-2] + header[-1], io.SEEK_CUR)
        data = _inflate(self._file.read(info.compress_size), info.compress_type, name)
        if zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile(f"{name}: the checksum does not fit")
        return data


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
