"""Language models that act: what each memory condition carries, and how a model plays the world."""
