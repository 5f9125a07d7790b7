"""The MCP front: tools made from the HTTP endpoints, which forward to the API and hold no rule of their own.

Importing `gate` is cheap; `sessions` brings the MCP SDK, which takes a second, so it is loaded when it is needed.
"""
