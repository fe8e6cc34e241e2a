"""Helpers of no one area: checks, files, text, random generators, types."""
