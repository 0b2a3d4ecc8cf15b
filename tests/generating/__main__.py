"""Write ``cases/generated/``: a file for each document, and one for graphs of several nodes."""

from tests.conftest import CASES
from tests.generating import documents, graphs

for name in documents.NAMES:
    (CASES / f"generated/{name}.yaml").write_text(documents.written(name))
(CASES / "generated/contexts.yaml").write_text(graphs.written())
