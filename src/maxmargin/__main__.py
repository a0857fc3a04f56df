"""``python -m maxmargin`` is the command ``maxmargin``."""

from maxmargin.cli import main

if __name__ == "__main__":
    main()
