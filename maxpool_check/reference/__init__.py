"""The reference: geometry, policies, and two implementations that the tests prove equal.

:mod:`~maxpool_check.reference.definition` is the documents' formula, cell by cell;
:mod:`~maxpool_check.reference.evaluator` is fast.
"""
