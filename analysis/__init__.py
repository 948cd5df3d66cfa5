"""What trajectories say: kernels, beliefs, stopping, statistics, tables, figures and reports."""
