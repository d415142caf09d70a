"""`python -m launchers` is `launch`, where that is not on PATH."""

from launchers.cli.main import main

if __name__ == "__main__":
    main()
