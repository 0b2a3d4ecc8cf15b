"""The reference: geometry, policies, and two implementations that the tests compare bit by bit.

:mod:`~maxpool_check.reference.definition` is the documents' formula, cell by cell;
:mod:`~maxpool_check.reference.evaluator` is fast.
"""
