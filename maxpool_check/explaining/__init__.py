"""A case, a kind of divergence or a document, explained: drawings, reference results, pages."""
