"""From a log to a model: classes, arrivals and sizes, and how well the model fits."""
