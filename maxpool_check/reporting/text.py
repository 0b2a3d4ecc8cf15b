"""What several reports show of an execution, and how they print."""

from maxpool_check.reporting.executions import details
from maxpool_check.reporting.writers.terminal import styled, terminal

__all__ = ["details", "styled", "terminal"]
