"""A case, a kind of divergence, a document or the coverage of a run, explained: drawings, reference results, pages."""
