"""Writers of blocks: a terminal, Markdown and HTML."""
