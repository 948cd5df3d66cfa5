"""Numbers and claims printed in the paper, as CSV files."""
