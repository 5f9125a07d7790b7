"""How answers look to people at a terminal; into a pipe or a file, commands write plain lines instead."""
