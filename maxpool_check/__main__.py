"""``python -m maxpool_check`` is ``maxpool-check``."""

from maxpool_check.commands.main import main

main()
