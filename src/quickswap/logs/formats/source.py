"""Reads the text of a log: decompresses it and splits it into blocks of complete lines."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from quickswap.errors import LogError

__all__ = ["BLOCK", "ahead", "blocks", "chunks", "first_text", "threads"]

T = TypeVar("T")
S = TypeVar("S")

BLOCK = 4 << 20
"""Bytes of text parsed at a time."""

THREADS = 2
"""Blocks that are parsed at the same time; each requires several times its size of memory."""
_CHUNK = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF8, _UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


def first_text(path: Path) -> str:
    """Return the beginning of a log as text, decompressed, from the first line that is not empty.

    Raises:
        LogError: the file does not exist, or is unreadable, empty or damaged.
    """
    size, parts = 0, []
    for part in chunks(path):
        parts.append(part)
        size += len(part)
        if size >= _CHUNK:
            break
    start = b"".join(parts)
    if start.startswith(_UTF16):
        raise LogError(f"{path}, line 1 is UTF-16 text", advice="convert the file to UTF-8")
    text = start.removeprefix(_UTF8).decode("utf-8", "replace")
    if not text.strip():
        raise LogError(f"{path} is empty", advice="give a log with at least one job")
    return text.lstrip("\r\n")


def blocks(path: Path, lone_cr: bool = False) -> Iterator[bytes]:
    """Yield the decompressed text of a log in blocks of complete lines.

    `lone_cr`: whether a carriage return ends a line in a block without line feeds.
    """
    parts: list[bytes] = []
    held = 0
    first = True
    for part in chunks(path):
        if first:
            part, first = part.removeprefix(_UTF8), False
        parts.append(part)
        held += len(part)
        if held < BLOCK:
            continue
        cut = part.rfind(b"\n") + 1
        if not cut and lone_cr:  # not the last byte: a line feed may follow
            cut = part.rfind(b"\r", 0, -1) + 1
        if cut:
            parts[-1] = part[:cut]
            yield b"".join(parts)
            parts, held = [part[cut:]], len(part) - cut
    if held:
        yield b"".join(parts)


def threads() -> ThreadPoolExecutor:
    """Return the threads for `ahead`, for use in a `with` block."""
    return ThreadPoolExecutor(THREADS)


def ahead(pool: Executor, work: Callable[[T], S], items: Iterable[T]) -> Iterator[S]:
    """Yield the result of `work` for each item in order, with two items computed ahead.

    The caller owns the pool, because a generator cannot raise a Ctrl-C that arrives while it is
    closed.
    """
    waiting: deque[Future[S]] = deque()
    for item in items:
        if len(waiting) == THREADS:
            yield waiting.popleft().result()
        waiting.append(pool.submit(work, item))
    while waiting:
        yield waiting.popleft().result()


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the decompressed bytes of a log.

    Raises:
        LogError: the file does not exist, or is unreadable or damaged.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(_GZIP):
                yield from _inflated(file, lambda: zlib.decompressobj(wbits=31), path)
            elif magic.startswith(_ZSTD):
                import zstandard

                yield from _inflated(file, zstandard.ZstdDecompressor().decompressobj, path)
            else:
                yield from iter(lambda: file.read(_CHUNK), b"")
    except OSError as error:
        reason = error.strerror or str(error)
        raise LogError(
            f"{path} cannot be read ({reason})", advice="give the file of a log"
        ) from error


def _inflated(file: BinaryIO, opener: Callable[[], Any], path: Path) -> Iterator[bytes]:
    """Yield the content of a file of one or several compressed streams."""
    stream, fed, out = opener(), False, 0
    while chunk := file.read(_CHUNK):
        while chunk:
            try:
                part = stream.decompress(chunk)
            except Exception as error:  # zlib.error, or ZstdError of a package imported on demand
                raise LogError(
                    f"{path} is damaged: decompression fails after {out} bytes of text",
                    advice="download it again",
                ) from error
            fed = True
            out += len(part)
            if part:
                yield part
            chunk = b""
            if stream.eof:
                # Zeros may pad a gzip file.
                chunk = stream.unused_data.lstrip(b"\0")
                stream, fed = opener(), False
    if fed:
        raise LogError(
            f"{path} is truncated: the compressed stream ends after {out} bytes of text",
            advice="download it again",
        )
