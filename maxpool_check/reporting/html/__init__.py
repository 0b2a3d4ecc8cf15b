"""Reports as HTML pages: one file each, which opens from disk and asks no network for anything."""
