"""The services of memory.v1 over the operations of the family. Loaded only where gRPC is served."""
