"""Helpers for all packages: checks, files, text, random generators, types."""
