"""What a script's text says before it runs: its strategy, its Keras, its standard input."""
