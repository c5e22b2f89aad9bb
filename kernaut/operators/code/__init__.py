"""Domain ``code``: Python-programming tasks with visible checks and hidden tests, their candidates and operators."""
