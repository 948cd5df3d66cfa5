"""Run folders of the official MNIST-PRO runner."""
