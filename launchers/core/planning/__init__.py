"""What every provider's plan shares: its rows, machines, ranks' environment, rendering."""
