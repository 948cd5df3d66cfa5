"""Where traces come from and rest."""
