"""`python -m specpreflight`."""

from specpreflight.cli import main

if __name__ == "__main__":
    main(prog_name="specpreflight")
