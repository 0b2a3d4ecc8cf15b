"""What others know of a defect: its entry in a catalogue, and what other runtimes return."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DefectNote:
    """A reviewed defect.

    ``title`` is one sentence: operator, condition, effect. ``mechanism`` says what happens and why, ``established`` how that
    was found out, ``documents`` names the documents that it violates. ``versions`` are those that
    have it, in words. ``upstream_issue`` is the address of an issue about it, and
    ``upstream_state`` its state.
    """

    title: str
    mechanism: str = ""
    established: str = ""
    documents: tuple[str, ...] = ()
    versions: str = ""
    upstream_issue: str | None = None
    upstream_state: str | None = None


@dataclass(frozen=True)
class OtherAnswer:
    """What another runtime makes of the same case: its name and version, and its outputs, refusal or death in words.

    ``is_right`` is None where the document does not decide.
    """

    runtime: str
    answer: str
    is_right: bool | None
