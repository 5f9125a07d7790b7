"""What a front offers, as data: nothing here knows a web framework, a protocol or a service."""
