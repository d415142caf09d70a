"""Class folders of pictures become Parquet: listing, splitting, tasks, engines, resuming."""
