"""The boosting loop (Algorithm 1), its stopping rules, callbacks, interrupts and history."""
