"""One case or one kind, shown to a person: what the judge saw, drawn."""
