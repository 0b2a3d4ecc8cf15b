"""What the adapters of runtimes have in common: the options of a target, its description, and what becomes of an exception."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Iterable, Iterator

from .messages import DTYPES, refusal, unable

_KEYS = (
    "wants", "decides", "distribution", "version", "provider", "providers", "session_options", "indices", "dtypes",
    "spatial", "graphs", "settings",
)  # fmt: skip


class Adapter:
    """One runtime in this environment, with the options of one target.

    An adapter has, on the class or set when it is made, those keys of ``ready`` that are its own, as attributes; the worker
    has defaults for the others. ``title`` is its name in messages. ``takes`` are the dtypes of tensors that can be passed to
    the runtime, if these are not ``dtypes``, of which it has a MaxPool. ``refusals`` are the exceptions of :meth:`execute` by
    which the runtime refuses a request: any other is a mistake, of which the worker tells. ``engines`` are the values of an
    ``engine_option``, by the provider that a record names for them.
    """

    title: str
    distribution: str
    version: str
    dtypes: Iterable[str]
    takes: Iterable[str] | None = None
    wants = "model"
    refusals: tuple[type[Exception], ...] = (Exception,)
    engine_option = ""
    engines: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, options: dict[str, Any], **known: tuple[Any, ...]) -> None:
        """Check what a target chooses. Raises ``ValueError``.

        ``known`` are the options of its targets, each with its default and all of its values; with the default alone if it
        may be any text.
        """
        given = dict(options.get("provider_options") or {})
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise ValueError(f"unknown option {', '.join(unknown)}; {self.title} has {', '.join(known) or 'none'}")
        for name, value in given.items():
            values = known[name][1:]
            if values and value not in values:
                is_short = len(values) == 1 or {*values} == {"0", "1"}
                allowed = " or ".join(values) if is_short else f"one of {', '.join(values)}"
                raise ValueError(f"{name} must be {allowed}, got {value}")
        provider = options.get("provider")
        if provider in self.engines:
            # The provider that a record names chooses as the option does.
            engine = given.setdefault(self.engine_option, self.engines[provider][0])
            if engine not in self.engines[provider]:
                raise ValueError(f"{self.engine_option}={engine} is not {provider}; leave out one of them")
        self.chosen = {**{name: values[0] for name, values in known.items()}, **given}
        self.check_provider(provider)

    def check_provider(self, provider: str | None) -> None:
        """Raise ``ValueError`` for a provider that is none of its own; without such, other than CPU."""
        if provider not in (None, *(self.engines or ["CPU"])):
            others = [option for option in self.chosen if option in ("device", "platform")]
            advice = f"; it runs on others with ?{others[0]}=NAME, not @NAME" if others else ""
            names = " or ".join(self.engines or ["CPU"])
            raise ValueError(f"{self.title} runs on {names} only, not on {provider}{advice}")

    @property
    def description(self) -> dict[str, Any]:
        """The keys of ``ready`` that are its own."""
        return {key: getattr(self, key) for key in _KEYS if hasattr(self, key)}

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """The message about one request; ``request["model"]`` is bytes."""
        taken = self.takes or (self.dtypes if hasattr(self, "dtypes") else DTYPES)
        for tensor in request["inputs"].values():
            if tensor["dtype"] not in (*taken, "bool"):
                return unable(f"{self.title} does not support {tensor['dtype']}")
        try:
            return self.execute(request, inputs)
        except self.refusals as error:
            return self.refusal(error)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """The message about one request of dtypes that the runtime has. An exception of the runtime is its refusal."""
        raise NotImplementedError

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The message about a refusal."""
        return refusal(error)


@contextmanager
def model_file(model: bytes, name: str = "model.onnx") -> Iterator[Path]:
    """The file of a model, for what reads no bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(model)
        yield path
