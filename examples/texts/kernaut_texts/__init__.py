"""An example extension of Kernaut: a domain of evaluator evolution whose candidates are short reports."""
