"""The paper's tables and figures, run by one command, with today's peers beside the paper's."""
