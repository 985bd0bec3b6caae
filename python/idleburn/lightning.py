"""For Lightning: `Trainer(callbacks=[idleburn.lightning.Callback()])`."""

try:
    from lightning.pytorch import Callback as _Base
except ImportError:
    from pytorch_lightning import Callback as _Base

from ._markers import step


def _samples(batch):
    """How many samples a batch holds; None where that cannot be told."""
    if isinstance(batch, dict):
        batch = next(iter(batch.values()), None)
    elif isinstance(batch, (list, tuple)):
        batch = batch[0] if batch else None
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 else None


class Callback(_Base):
    """Reports each training batch as a step, and the epochs that ended since this training began: a resumed one counts
    on from those of an earlier job."""

    def __init__(self):
        super().__init__()
        self._epochs = 0  # reported
        self._before = 0  # of the Trainer's, not done here

    def on_train_start(self, trainer, pl_module):
        self._before = trainer.current_epoch - self._epochs

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        finished = trainer.current_epoch + (1 if getattr(trainer, "is_last_batch", False) else 0)
        self._epochs = finished - self._before
        step(_samples(batch), None, self._epochs)
