"""The paper's tables and figures, run by one command, with today's libraries beside the paper's."""
