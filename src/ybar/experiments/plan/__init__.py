"""What is to be run: the model of a plan, and its TOML files."""
