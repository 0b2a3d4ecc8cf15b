"""The addresses of the pages of a site, each decided by the name of what the page is about alone."""

import hashlib

from maxpool_check.reporting.html.page import slug

_LONGEST_PART = 100
"""The longest part of an address that is a name as it is."""


def part(text: str) -> str:
    """The text as one part of an address: as it is, or with a digest if that cannot be."""
    name = slug(text)[:_LONGEST_PART].strip(".")
    return name if name == text else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def case_address(case: str) -> str:
    """The address of the page of a case, which its id alone decides: ``cases/edge/neg-inf/one-cell.html``."""
    file, _, name = case.rpartition(":")
    return "/".join(["cases", *map(part, filter(None, file.split("/"))), f"{part(name)}.html"])


def case_file_address(file: str) -> str:
    """The address of the JSON of the cases of a file: ``cases/edge/neg-inf.json``."""
    return "/".join(["cases", *map(part, filter(None, file.split("/")))]) + ".json"


def address(folder: str, name: str) -> str:
    """The address of any other page."""
    return f"{folder}/{part(name)}.html"
