"""Algorithm 2 of the paper, transcribed line by line into plain NumPy."""

import numpy as np


def follow_algorithm_2(scores, N, n):
    """Do Algorithm 2 as it is printed; return the halting iteration and T."""
    gamma = 1 + np.log(n) / N
    k = np.log(N)
    v, T = 0, 1
    A = np.zeros(int(np.ceil(k)))
    for t, oop in enumerate(scores, start=1):
        # 1. Detect the best iteration.
        if oop > np.max(A):
            T = t
        # 2. Check the stopping criteria.
        if v > k:
            return t, T
        # 3. Check the progress of oop.
        v = v + 1 if oop < gamma * np.min(A) else 0
        # 4. Update A.
        if oop > np.min(A):
            A = np.append(np.sort(A)[1:], oop)
    return None, T
