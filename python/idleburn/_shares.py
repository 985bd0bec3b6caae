"""What one of several ranks reports of work that they did together: `idleburn` adds the ranks up."""


def share(total, ranks, index):
    """The part of `total` that the rank `index` of 0 .. ranks - 1 reports: those of all ranks add up to it exactly."""
    return total // ranks + (1 if index % ranks < total % ranks else 0)
