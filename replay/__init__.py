"""Frozen evidence replayed: frames, canvases, verification, representations, predictors and swaps."""
