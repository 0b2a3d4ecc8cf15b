"""A static site from records: what every runtime does with every document, defect, kind, clause and case."""
