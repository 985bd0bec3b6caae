"""For the Hugging Face Trainer: `Trainer(..., callbacks=[idleburn.huggingface.Callback()])`."""

from transformers import TrainerCallback

from ._markers import step


class Callback(TrainerCallback):
    """Reports each optimizer step with its samples, its tokens where the Trainer counts them, and the epochs that
    ended since this training began: a resumed one counts on from those of an earlier job."""

    def __init__(self):
        self._tokens = 0
        self._epochs = 0  # reported
        self._before = 0  # of the Trainer's, not done here

    def on_train_begin(self, args, state, control, **kwargs):
        self._tokens = getattr(state, "num_input_tokens_seen", 0) or 0
        self._before = int(state.epoch or 0) - self._epochs

    def on_step_end(self, args, state, control, **kwargs):
        seen = getattr(state, "num_input_tokens_seen", 0) or 0
        tokens = seen - self._tokens if seen > self._tokens else None
        self._tokens = seen
        self._epochs = int(state.epoch or 0) - self._before
        # Of this process: each reports its own share.
        step(args.train_batch_size * args.gradient_accumulation_steps, tokens, self._epochs)
