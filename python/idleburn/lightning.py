"""For Lightning: `Trainer(callbacks=[idleburn.lightning.Callback()])`."""

try:
    from lightning.pytorch import Callback as _Base
except ImportError:
    from pytorch_lightning import Callback as _Base

from ._markers import step
from ._shares import share


def _alike(trainer):
    """How many ranks are given the same batches: those of tensor parallelism."""
    try:
        return trainer.strategy.device_mesh["tensor_parallel"].size()
    except (AttributeError, KeyError, RuntimeError, TypeError):  # other strategies have no mesh, or another one
        return 1


def _samples(batch):
    """How many samples a batch holds; None where that cannot be told."""
    if isinstance(batch, dict):
        batch = next(iter(batch.values()), None)
    elif isinstance(batch, (list, tuple)):
        batch = batch[0] if batch else None
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 else None


class Callback(_Base):
    """Reports each training batch as a step, as Lightning's bar does, also where several batches make one update, and
    the epochs that ended since this training began: a resumed one counts on from those of an earlier job. Of samples
    that several ranks work on, each rank reports its share."""

    def __init__(self):
        super().__init__()
        self._epochs = 0  # reported
        self._before = 0  # of the Trainer's, not done here

    def on_train_start(self, trainer, pl_module):
        self._before = trainer.current_epoch - self._epochs

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        finished = trainer.current_epoch + (1 if getattr(trainer, "is_last_batch", False) else 0)
        self._epochs = finished - self._before
        samples = _samples(batch)
        if samples is not None:
            samples = share(samples, _alike(trainer), getattr(trainer, "global_rank", 0))
        step(samples, None, self._epochs)
