"""Names of files and folders for the ids of cases: safe everywhere, and each of another case."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

MOST_CHARACTERS = 100


def safe_names(ids: Sequence[str]) -> dict[str, str]:
    """A name for each id, of lower-case letters, digits and underscores.

    Where two would be the same, also on a file system that ignores case, or one would be too long, it ends with the first
    digits of the SHA-256 of the id.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in ids}
    counts = Counter(plain.values())
    return {
        name: text if counts[text] == 1 and 0 < len(text) <= MOST_CHARACTERS else _digested(name, text)
        for name, text in plain.items()
    }


def _digested(name: str, text: str) -> str:
    digits = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{text[:MOST_CHARACTERS]}_{digits}".strip("_")
