"""Pictures as Parquet, from the laptop's side: starting the converter, looking into a place."""
