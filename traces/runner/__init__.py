"""Fresh traces: policies that act in the bundled world."""
