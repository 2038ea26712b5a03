"""`python -m illume` is the command `illume`."""

from illume.cli import main

if __name__ == "__main__":
    main()
