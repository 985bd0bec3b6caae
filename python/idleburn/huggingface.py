"""For the Hugging Face Trainer: `Trainer(..., callbacks=[idleburn.huggingface.Callback()])`."""

from transformers import TrainerCallback

from ._markers import step
from ._shares import share


def _parallel(args, model):
    """How many ranks work on one batch, and how many of them the Trainer counts the same tokens for: those of tensor
    and context parallelism, while those of sequence parallelism hold a part of each sequence, and a batch that is split
    is one for all ranks."""
    layout = getattr(args, "parallelism_config", None)
    deepspeed = getattr(getattr(args, "hf_deepspeed_config", None), "config", None) or {}
    tensor = (
        getattr(model, "_tp_size", None)
        or deepspeed.get("tensor_parallel", {}).get("autotp_size")
        or getattr(layout, "tp_size", None)
        or 1
    )
    whole = tensor * (getattr(layout, "cp_size", None) or 1)
    if getattr(getattr(args, "accelerator_config", None), "split_batches", False):
        return getattr(args, "world_size", 1), whole
    return whole * (getattr(layout, "sp_size", None) or 1), whole


def _last_batch(args, loader, full):
    """Samples of the last batch of an epoch. Where several ranks take them, it is filled up with samples of before."""
    batches = getattr(loader, "batch_sampler", None)
    if getattr(args, "world_size", 1) > 1 or getattr(batches, "drop_last", True):
        return full
    try:
        return (len(batches.sampler) % full) or full
    except (AttributeError, TypeError):  # a stream has no length, and a sampler of one's own may be anything
        return full


class Callback(TrainerCallback):
    """Reports each optimizer step with its samples, its tokens where the Trainer counts them, and the epochs that
    ended since this training began: a resumed one counts on from those of an earlier job. Of samples that several
    ranks work on, and of the tokens, which the Trainer counts for all ranks, each rank reports its share."""

    def __init__(self):
        self._tokens = 0
        self._batches = 0  # since the last step
        self._epochs = 0  # reported
        self._before = 0  # of the Trainer's, not done here

    def on_train_begin(self, args, state, control, **kwargs):
        self._tokens = getattr(state, "num_input_tokens_seen", 0) or 0
        self._batches = 0
        self._before = int(state.epoch or 0) - self._epochs

    def on_substep_end(self, args, state, control, **kwargs):
        self._batches += 1

    def on_step_end(self, args, state, control, **kwargs):
        together, whole = _parallel(args, kwargs.get("model"))
        rank = getattr(args, "process_index", 0)
        step(
            share(self._samples(args, state, kwargs.get("train_dataloader")), together, rank),
            self._new_tokens(args, state, whole, rank),
            self._finished(state),
        )

    def _samples(self, args, state, loader):
        """Of this rank since the last step: an epoch may end before a step has all its batches."""
        # What it really is: where memory is short, the Trainer may have chosen less than the arguments say.
        batch = getattr(state, "train_batch_size", None) or args.train_batch_size
        ends = state.epoch is not None and float(state.epoch).is_integer()
        samples = self._batches * batch + (_last_batch(args, loader, batch) if ends else batch)
        self._batches = 0
        return samples

    def _new_tokens(self, args, state, whole, rank):
        seen = getattr(state, "num_input_tokens_seen", 0) or 0
        new = seen - self._tokens
        self._tokens = seen
        return share(new // whole, getattr(args, "world_size", 1), rank) if new > 0 else None

    def _finished(self, state):
        self._epochs = int(state.epoch or 0) - self._before
        return self._epochs
