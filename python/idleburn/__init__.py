"""Say how much work a training has done, and audit a part of it.

    import idleburn

    for batch in loader:
        train(batch)
        idleburn.step(samples=len(batch))

    with idleburn.audit(price=8):       # records, and prints where the money went
        train()

    loader = DataLoader(data, num_workers=idleburn.num_workers(4))
    if idleburn.synthetic():            # `idleburn isolate` asks what a batch that need not be loaded would bring
        batch = torch.randn(...)

    idleburn.resumed(start_step)        # `idleburn drill` asks whether a restart loses, repeats or skips anything
    with idleburn.checkpoint(step, path):
        save(path)

Only the standard library is used. Outside of `idleburn run` or `audit`, step() does nothing.
"""

from ._audit import audit
from ._hooks import num_workers, synthetic
from ._markers import checkpoint, resumed, step

__all__ = ["audit", "checkpoint", "num_workers", "resumed", "step", "synthetic"]
__version__ = "0.1.0"
