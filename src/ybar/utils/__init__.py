"""Helpers without knowledge of the method: checks, files, text, random generators, types."""
