"""What the answer is: geometry, policies, the definition and the evaluator.

Two references live here. :mod:`~maxpool_check.reference.definition` is the documents' formula, cell by cell, to be read
beside them. :mod:`~maxpool_check.reference.evaluator` gives the same answer fast. The tests prove them equal.
"""
