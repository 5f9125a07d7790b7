"""The runtime of the local models, which everything here takes from this module.

Left to itself, onnxruntime keeps an id of the device and a database of events in the user's home, and sends them to its
maker. It decides so when it is loaded, by a variable of the environment; what it can be told later comes too late for
the files and the first look-up.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime  # noqa: TID251 - here, where it has been told

__all__ = ["onnxruntime"]
