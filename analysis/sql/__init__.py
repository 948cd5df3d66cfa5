"""One SQL file per table or figure."""
