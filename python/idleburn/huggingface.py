"""For the Hugging Face Trainer: `Trainer(..., callbacks=[idleburn.huggingface.Callback()])`."""

from transformers import TrainerCallback

from ._markers import step


class Callback(TrainerCallback):
    """Reports each optimizer step with its samples, and its tokens where the Trainer counts them."""

    def __init__(self):
        self._tokens = 0

    def on_step_end(self, args, state, control, **kwargs):
        seen = getattr(state, "num_input_tokens_seen", 0) or 0
        tokens = seen - self._tokens if seen > self._tokens else None
        self._tokens = seen
        # Of this process: each reports its own share.
        step(args.train_batch_size * args.gradient_accumulation_steps, tokens, int(state.epoch or 0))
