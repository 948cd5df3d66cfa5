"""Stated beliefs: what a thought claims about the hidden digits, and how those claims change."""
