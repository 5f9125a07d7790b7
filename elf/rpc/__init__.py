"""The gRPC front: services of families, health and reflection. Loaded only where the config has service.grpc_bind.

gRPC wants to be prepared for a process that forks and goes on with it in both, and says on stderr, among the log, that
it is not whenever a child is started while calls run. Nobody goes on with it in a child here; it is told by a variable
of the environment, before it is loaded.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
