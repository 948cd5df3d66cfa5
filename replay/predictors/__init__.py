"""Predictors: what reads evidence."""
