"""Names of cases in the formats of others, which allow fewer characters."""

import hashlib
import re
from collections.abc import Iterable


def safe_names(ids: Iterable[str], unsafe: re.Pattern[str], prefix: str = "") -> dict[str, str]:
    """A name for each id: the prefix and the id, if it has no unsafe characters; else with a digest that tells it from others."""
    return {name: prefix + _safe(name, unsafe) for name in ids}


def _safe(name: str, unsafe: re.Pattern[str]) -> str:
    shown = unsafe.sub("_", name)
    return shown if shown == name else f"{shown}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
