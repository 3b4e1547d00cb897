"""Litmus tests for RDMA: which outcomes memory models allow a program, and why.

>>> import litmus
>>> found = litmus.allowed('''
... litmus SB
...
...   x = 0  ||  y = 0
...   ----------------
...   x := 1 ||  y := 1
... ''', model="rdma-tso-rmw")
>>> found.complete
True
"""
from ._answers import Comparison, Explanation, LitmusError, Outcomes, Repair, Repairs, Verdict
from ._ask import allowed, compare, explain, fmt, models, repair
from ._records import record, report

__all__ = [
    "Comparison",
    "Explanation",
    "LitmusError",
    "Outcomes",
    "Repair",
    "Repairs",
    "Verdict",
    "allowed",
    "compare",
    "explain",
    "fmt",
    "models",
    "record",
    "repair",
    "report",
]
