"""What is proven of every family of memory in the same way.

A family adds a `Proof` to `every.py`, with what it brings in files of its own (those of notes are the example):

- `rows`, who must not be served or told what by which operation and tool, and `settle`, which makes an owner to try
  that on: `test_isolation`. What is offered and stands in no row fails.
- `leaks` in its own queries and rules, each of which the rows have to find: `test_planted_leaks`. A query that asks for
  a tenant and is in no leak fails.
- `work`, random valid work and the proof that it is there: `test_fuzz`, `test_kill_and_check`, `ops/fuzz/operations.py`
  and `ops/chaos/families.py`.
"""
