"""One memory over all families: it knows of them only what their manifests offer."""
