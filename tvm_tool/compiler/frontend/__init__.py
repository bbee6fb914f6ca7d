"""Model files: reading, checking and normalising them before they are imported into TVM."""
