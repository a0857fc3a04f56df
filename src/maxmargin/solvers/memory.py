"""How much memory there is, is in use, and may be used."""

from __future__ import annotations

import os
import re

_UNITS = {"": 0, "B": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4}


def parse_memory(memory: int | float | str) -> int:
    """Bytes, from a number or from text such as "2GB" (powers of 1024).

    Examples
    --------
    >>> from maxmargin.solvers.memory import parse_memory
    >>> parse_memory("2GB"), parse_memory("1.5 KB")
    (2147483648, 1536)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B?)\s*", str(memory).upper())
    unit = match[2].replace("I", "") if match else ""
    unit += "B" if unit in ("K", "M", "G", "T") else ""
    if isinstance(memory, bool) or match is None or unit not in _UNITS or float(match[1]) <= 0:
        raise ValueError(f"memory={memory!r} must be a positive number of bytes, or text such as '500MB' or '2GB'")
    return int(float(match[1]) * 1024 ** _UNITS[unit])


def free_memory() -> int:
    """Bytes that the machine has free, as far as it tells; else a gigabyte."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (OSError, ValueError, AttributeError):
        return 1 << 30


def used_memory() -> int:
    """Bytes that this process has in memory now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0
