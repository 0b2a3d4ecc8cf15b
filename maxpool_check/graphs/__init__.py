"""The neighbours of MaxPool in a graph: what each computes, exactly, and how it is written in an operator set."""
