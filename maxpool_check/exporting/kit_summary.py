"""Which mistakes a kernel was tested for with a kit: a kernel that computed few vectors proves little."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from maxpool_check.corpus.collection import KIT, kits
from maxpool_check.exporting.export import MANIFEST
from maxpool_check.exporting.kit import KitProof, Mistake, kit_of, proof_of
from maxpool_check.files import read_regular
from maxpool_check.results.details import KitSummary
from maxpool_check.results.record import Execution, Verdict

Answers = Mapping[str, bool]
"""The vectors to which a kernel gave an answer, and whether that was one with Indices."""


def summary(target: str, proof: KitProof, computed: Answers, refused: Answers) -> KitSummary:
    """What a kernel was tested for: of the vectors of a kit it computed some, and refused others that must be refused."""
    by_outputs = tuple(name for name, each in proof.mistakes.items() if _is_noticed(each, computed))
    by_refusals = tuple(
        name for name, each in proof.mistakes.items() if name not in by_outputs and _is_noticed(each, refused)
    )
    return KitSummary(
        target=target,
        vectors=proof.vectors,
        computed=len(computed),
        refused=len(refused.keys() - computed.keys()),
        noticed=by_outputs,
        by_refusals=by_refusals,
        not_noticed=tuple(name for name in proof.mistakes if name not in {*by_outputs, *by_refusals}),
    )


def _is_noticed(mistake: Mistake, answers: Answers) -> bool:
    return any(each in answers for each in mistake.by_y) or any(answers.get(each) for each in mistake.with_indices)


def noticed(paths: Sequence[Path], executions: Iterable[Execution]) -> tuple[KitSummary, ...]:
    """The summary of each target of a run of one kit; nothing of a run of other cases."""
    proof = _proof(paths[0]) if len(paths) == 1 else None
    if proof is None:
        return ()
    computed, refused = defaultdict[str, dict[str, bool]](dict), defaultdict[str, dict[str, bool]](dict)
    for each in executions:
        is_refused = each.verdict is Verdict.CONFORMS and not each.digests and each.case in proof.must_be_refused
        if each.digests or is_refused:
            answers = (refused if is_refused else computed)[each.target]
            answers[each.case] = answers.get(each.case, False) or each.variant.startswith("indices")
    targets = sorted({*computed, *refused})
    return tuple(summary(name, proof, computed[name], refused[name]) for name in targets)


def _proof(path: Path) -> KitProof | None:
    """What a kit notices, of the corpus or exported to a folder; None if it is no kit."""
    if str(path) in kits():
        document = str(path).removeprefix(KIT).removeprefix("/") or "onnx-22"
        kit = kit_of(document)
        return proof_of(kit, kit.of_corpus)
    try:
        manifest = json.loads(read_regular(path / MANIFEST, 2**28))
        return msgspec.convert(manifest["proof"], KitProof) if manifest["format"] == "kit" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
