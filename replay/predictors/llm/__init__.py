"""Language models as predictors: frozen evidence in any representation to a model's answer."""
