"""An example extension of Kernaut: a task, a baseline and a model."""
