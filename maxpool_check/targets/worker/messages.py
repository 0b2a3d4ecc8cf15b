"""What adapters have in common: the messages about a request, the dtypes, and the check of a target's options.

An adapter is a class: its instances have ``description``, the keys of ``ready`` that differ from the defaults, and
``run(request, inputs)``, which returns a message.
"""

from __future__ import annotations

from typing import Any, Iterable

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64")  # fmt: skip
"""All that runtimes pool, by name."""


def returned(names: Iterable[str], outputs: Iterable[Any], provider: str | None = None) -> dict[str, Any]:
    """The runtime returned outputs with these names. ``provider`` is the one that ran the node."""
    return {"type": "result", "provider": provider, "outputs": dict(zip(names, outputs))}


def refusal(error: Exception, message: str | None = None, status: str | None = None) -> dict[str, Any]:
    """The runtime refused the request with an exception; its message and class, unless others are passed."""
    message = str(error) if message is None else message
    return {"type": "refusal", "status": status or type(error).__name__, "message": message}


def unable(message: str) -> dict[str, Any]:
    """The adapter cannot express the request."""
    return {"type": "unable", "message": message}


def check_options(options: dict[str, Any], name: str, *known: str) -> None:
    """Raise ``ValueError`` for a provider other than the CPU, and for provider options that are not ``known``."""
    unknown = sorted(set(options.get("provider_options") or ()) - set(known))
    if unknown:
        raise ValueError(f"unknown option {', '.join(unknown)}; {name} has {', '.join(known) or 'none'}")
    if options.get("provider") not in (None, "CPU"):
        raise ValueError(f"{name} runs on CPU only, not on {options['provider']}")
