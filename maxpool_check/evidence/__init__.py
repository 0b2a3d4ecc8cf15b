"""Evidence that verifies itself: what was executed, by which cases, against which clauses, and what follows from it."""
