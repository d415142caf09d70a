"""What a plain command line starts, for any provider: which launcher, how many ranks, and whether
the copies of it on several hosts find each other."""
