"""The calibrated reader of partial canvases."""
