"""Say how much work a training has done, and audit a part of it.

    import idleburn

    for batch in loader:
        train(batch)
        idleburn.step(samples=len(batch))

    with idleburn.audit(price=8):       # records, and prints where the money went
        train()

Only the standard library is used. Outside of `idleburn run` or `audit`, step() does nothing.
"""

from ._audit import audit
from ._markers import step

__all__ = ["audit", "step"]
__version__ = "0.1.0"
