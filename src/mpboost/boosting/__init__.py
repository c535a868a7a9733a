"""The loop and the run: Algorithm 1, its stopping rules, callbacks, interrupts and history."""
