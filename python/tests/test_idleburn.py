"""python3 -m unittest discover python/tests"""

import ast
import asyncio
import contextlib
import importlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

import idleburn
from idleburn import _markers

_RECORDER = """#!/usr/bin/env python3
import json, os, signal, sys, time
def end(*_):
    markers = open(os.environ["IDLEBURN_MARKERS"]).read().split("\\n")
    open(sys.argv[3], "w").write(json.dumps({"arguments": sys.argv[1:], "last": markers[-2]}))
    print("the audit", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, end)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
open(sys.argv[3] + ".started", "w").close()
time.sleep(600)
"""


def last_line(path):
    with open(path) as file:
        return file.read().splitlines()[-1]


class Markers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "markers")
        open(self.path, "w").close()
        os.environ["IDLEBURN_MARKERS"] = self.path
        _markers.restart()

    def tearDown(self):
        os.environ.pop("IDLEBURN_MARKERS", None)
        os.environ.pop("RANK", None)
        _markers.restart()
        self.folder.cleanup()

    def test_counts_add_up_and_the_first_step_is_written_at_once(self):
        idleburn.step(samples=32)
        self.assertEqual(last_line(self.path), f"step=1,samples=32,rank=0,pid={os.getpid()}")
        for _ in range(999):
            idleburn.step(samples=32, tokens=10, epoch=2)
        _markers.restart()
        self.assertEqual(last_line(self.path), f"step=1000,samples=32000,tokens=9990,epoch=2,rank=0,pid={os.getpid()}")
        with open(self.path) as file:
            self.assertLess(len(file.readlines()), 20)

    def test_restarts_are_told_step_by_step_where_somebody_asks(self):
        os.environ["IDLEBURN_MARKERS_PERIOD"] = "0"
        self.addCleanup(os.environ.pop, "IDLEBURN_MARKERS_PERIOD", None)
        _markers.restart()
        idleburn.resumed(40)
        idleburn.step(samples=2, first=80, ids=[5, 6])
        idleburn.step(samples=2, first=82, ids=[7, 8])
        saved = os.path.join(self.folder.name, "state")
        with idleburn.checkpoint(42, saved):
            with open(saved, "w") as file:
                file.write("12345")
        with open(self.path) as file:
            rows = [dict(item.split("=") for item in line.split(",")) for line in file.read().splitlines()]
        self.assertEqual(rows[0]["resumed"], "40")
        self.assertEqual((rows[1]["first_sample"], rows[1]["last_sample"], rows[1]["step"]), ("80", "81", "1"))
        self.assertEqual((rows[2]["first_sample"], rows[2]["last_sample"], rows[2]["step"]), ("82", "83", "2"))
        self.assertNotEqual(rows[1]["order"], rows[2]["order"])
        self.assertEqual(rows[3]["checkpoint_begin"], "42")
        self.assertEqual((rows[4]["checkpoint_end"], rows[4]["checkpoint_bytes"]), ("42", "5"))
        times = [int(row["at_ns"]) for row in rows]
        self.assertEqual(times, sorted(times))

    def test_samples_of_several_steps_are_one_line_until_there_is_a_gap(self):
        for first in (0, 4, 8, 20, 24):
            idleburn.step(samples=4, first=first)
        _markers.restart()
        with open(self.path) as file:
            rows = [dict(item.split("=") for item in line.split(",")) for line in file.read().splitlines()]
        taken = [(int(row["first_sample"]), int(row["last_sample"])) for row in rows if "first_sample" in row]
        self.assertEqual(taken, [(0, 3), (4, 11), (20, 27)])

    def test_a_checkpoint_that_failed_is_not_whole(self):
        with self.assertRaises(OSError):
            with idleburn.checkpoint(7):
                raise OSError("disk full")
        with open(self.path) as file:
            text = file.read()
        self.assertIn("checkpoint_begin=7", text)
        self.assertNotIn("checkpoint_end", text)

    def test_hooks_answer_the_environment_or_the_default_and_say_which(self):
        for name in ("IDLEBURN_ISOLATE_WORKERS", "IDLEBURN_ISOLATE_SYNTHETIC"):
            os.environ.pop(name, None)
            self.addCleanup(os.environ.pop, name, None)
        self.assertEqual(idleburn.num_workers(3), 3)
        self.assertEqual(last_line(self.path), f"workers=3,rank=0,pid={os.getpid()}")
        self.assertIs(idleburn.synthetic(), False)
        self.assertEqual(last_line(self.path), f"synthetic=0,rank=0,pid={os.getpid()}")
        os.environ["IDLEBURN_ISOLATE_WORKERS"] = "6"
        os.environ["IDLEBURN_ISOLATE_SYNTHETIC"] = "1"
        self.assertEqual(idleburn.num_workers(3), 6)
        self.assertIs(idleburn.synthetic(), True)
        self.assertEqual(last_line(self.path), f"synthetic=1,rank=0,pid={os.getpid()}")
        os.environ["IDLEBURN_ISOLATE_WORKERS"] = "many"
        os.environ["IDLEBURN_ISOLATE_SYNTHETIC"] = ""
        self.assertEqual(idleburn.num_workers(3), 3)
        self.assertIs(idleburn.synthetic(True), True)

    def test_the_rank_comes_from_the_environment(self):
        os.environ["RANK"] = "5"
        _markers.restart()
        idleburn.step()
        self.assertIn(",rank=5,", last_line(self.path))

    def test_the_rank_of_a_launcher_that_names_none_of_the_whole_job(self):
        for variables, rank in (
            ({"LOCAL_RANK": "3"}, 3),
            ({"LOCAL_RANK": "3", "NODE_RANK": "2"}, 3),
            ({"LOCAL_RANK": "3", "NODE_RANK": "2", "LOCAL_WORLD_SIZE": "8"}, 19),
            ({"LOCAL_RANK": "3", "NODE_RANK": "2", "LOCAL_WORLD_SIZE": "8", "RANK": "5"}, 5),
        ):
            with unittest.mock.patch.dict(os.environ, variables):
                _markers.restart()
            idleburn.step()
            self.assertIn(f",rank={rank},", last_line(self.path))

    def test_the_last_step_is_written_at_exit_and_after_a_fork_counts_begin_anew(self):
        program = (
            "import idleburn, os\n"
            "for _ in range(7): idleburn.step()\n"
            "if os.fork() == 0:\n"
            "    idleburn.step(); idleburn._markers._writer.write(); os._exit(0)\n"
            "os.wait()\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
        with open(self.path) as file:
            lines = file.read().splitlines()
        self.assertTrue(lines[-1].startswith("step=7,"))
        self.assertTrue(any(line.startswith("step=1,") and line.split(",")[-1] != lines[-1].split(",")[-1]
                            for line in lines))

    def test_workers_of_multiprocessing_write_their_last_step(self):
        program = (
            "import idleburn, multiprocessing\n"
            "def work():\n"
            "    for _ in range(7): idleburn.step()\n"
            "if __name__ == '__main__':\n"
            "    idleburn.step()\n"
            "    worker = multiprocessing.get_context('fork').Process(target=work)\n"
            "    worker.start()\n"
            "    worker.join()\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
        with open(self.path) as file:
            self.assertTrue(any(line.startswith("step=7,") for line in file))

    def test_steps_of_threads_add_up(self):
        threads = [threading.Thread(target=lambda: [idleburn.step(samples=2) for _ in range(2000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _markers.restart()
        self.assertTrue(last_line(self.path).startswith("step=16000,samples=32000,"))

    def test_a_file_that_cannot_be_written_is_no_error(self):
        os.environ["IDLEBURN_MARKERS"] = "/no/such/folder/markers"
        _markers.restart()
        idleburn.step(samples=1)

    def test_steps_cost_next_to_nothing(self):
        begin = time.process_time()
        for _ in range(100_000):
            idleburn.step(samples=1)
        self.assertLess((time.process_time() - begin) / 100_000, 20e-6)
        os.environ.pop("IDLEBURN_MARKERS")
        _markers.restart()
        begin = time.process_time()
        for _ in range(100_000):
            idleburn.step(samples=1)
        self.assertLess((time.process_time() - begin) / 100_000, 5e-6)


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program = os.path.join(self.folder.name, "idleburn")
        self.output = os.path.join(self.folder.name, "run.idleburn")
        with open(self.program, "w") as file:
            file.write(_RECORDER)
        os.chmod(self.program, stat.S_IRWXU)

    def tearDown(self):
        self.folder.cleanup()

    def wait_for_start(self):
        for _ in range(6000):
            if os.path.exists(self.output + ".started"):
                return
            time.sleep(0.01)
        self.fail("the recorder did not start")

    def check(self, steps):
        import json

        with open(self.output) as file:
            told = json.load(file)
        self.assertEqual(told["arguments"],
                         ["record", "-o", self.output, "--quiet", "--pid", str(os.getpid()), "--price", "8"])
        self.assertTrue(told["last"].startswith(f"step={steps},"), told["last"])
        self.assertNotIn("IDLEBURN_MARKERS", os.environ)

    def test_as_a_context(self):
        with idleburn.audit(price=8, output=self.output, program=self.program):
            self.wait_for_start()
            for _ in range(3):
                idleburn.step()
        self.check(3)

    def test_as_a_decorator_and_with_an_exception(self):
        @idleburn.audit(price=8, output=self.output, program=self.program)
        def train(fails):
            self.wait_for_start()
            idleburn.step()
            if fails:
                raise KeyError("of the training")
            return 7

        self.assertEqual(train(False), 7)
        self.check(1)
        os.unlink(self.output)
        os.unlink(self.output + ".started")
        with self.assertRaises(KeyError):
            train(True)
        self.check(1)

    def test_each_block_has_a_file_of_its_own(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)

        def recordings():
            return {name for name in os.listdir(".") if name.endswith(".idleburn")}

        @idleburn.audit(price=8, program=self.program)
        def train():
            idleburn.step()

        with open(self.program, "w") as file:  # as the real one, it replaces nothing
            file.write(_RECORDER.replace("def end", "assert not os.path.exists(sys.argv[3])\ndef end"))
        for times in range(1, 6):
            train()
            self.assertEqual(len(recordings()), times)

    def test_coroutines_and_generators_are_recorded_while_they_run(self):
        with_audit = idleburn.audit(price=8, output=self.output, program=self.program)

        @with_audit
        async def coroutine():
            self.wait_for_start()
            await asyncio.sleep(0)
            idleburn.step()
            return 7

        @with_audit
        def generator():
            self.wait_for_start()
            yield 1
            idleburn.step()
            return 7

        @with_audit
        async def stream():
            self.wait_for_start()
            idleburn.step()
            yield 1
            yield 2

        def rest(items):
            self.assertEqual(next(items), 1)
            with self.assertRaises(StopIteration) as end:
                next(items)
            return end.exception.value

        async def all_of(items):
            return [item async for item in items]

        cases = (
            (lambda: asyncio.run(coroutine()), 7),
            (lambda: rest(generator()), 7),
            (lambda: asyncio.run(all_of(stream())), [1, 2]),
        )
        for run, result in cases:
            self.assertEqual(run(), result)
            self.check(1)
            os.unlink(self.output)
            os.unlink(self.output + ".started")
        self.assertEqual(coroutine.__name__, "coroutine")

    def test_one_inside_another_and_in_its_threads_and_processes_is_part_of_it(self):
        def inner():
            with idleburn.audit(program="/no/such/idleburn"):
                idleburn.step()

        with idleburn.audit(price=8, output=self.output, program=self.program):
            self.wait_for_start()
            inner()
            thread = threading.Thread(target=inner)
            thread.start()
            thread.join()
        self.check(2)

    def test_a_forked_process_leaves_the_recorder_to_its_parent(self):
        with idleburn.audit(price=8, output=self.output, program=self.program) as audit:
            self.wait_for_start()
            if os.fork() == 0:
                audit.__exit__(None, None, None)
                os._exit(0 if os.path.exists(os.environ["IDLEBURN_MARKERS"]) else 1)
            self.assertEqual(os.wait()[1], 0)
            idleburn.step()
        self.check(1)

    def test_a_block_that_is_over_at_once_is_recorded(self):
        with open(self.program, "w") as file:  # it listens only when it has been told to end
            slow = "while signal.SIGINT not in signal.sigpending(): time.sleep(0.01)\nsignal.signal("
            file.write(_RECORDER.replace("signal.signal(", slow))
        with idleburn.audit(price=8, output=self.output, program=self.program):
            idleburn.step()
        self.check(1)

    def test_what_was_in_the_environment_comes_back(self):
        os.environ["IDLEBURN_MARKERS"] = "/no/such/markers"
        self.addCleanup(os.environ.pop, "IDLEBURN_MARKERS")
        with idleburn.audit(price=8, output=self.output, program=self.program):
            self.wait_for_start()
            idleburn.step()
        self.assertEqual(os.environ.get("IDLEBURN_MARKERS"), "/no/such/markers")
        self.assertNotIn("IDLEBURN_RUN_ID", os.environ)

    def test_without_a_recorder_the_work_is_done_all_the_same(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            with idleburn.audit(program="/no/such/idleburn"):
                done = True
        self.assertTrue(done)
        self.assertIn("nothing is recorded", said.getvalue())
        self.assertNotIn("IDLEBURN_MARKERS", os.environ)

    def test_under_run_it_does_nothing(self):
        os.environ["IDLEBURN_RUN_ID"] = "outer"
        try:
            with idleburn.audit(program="/no/such/idleburn"):
                pass
        finally:
            os.environ.pop("IDLEBURN_RUN_ID")


class Package(unittest.TestCase):
    """What it is written in: Python 3.8, and the standard library alone but for the two callbacks."""

    def test_language_and_imports(self):
        callbacks = {"huggingface.py": {"transformers"}, "lightning.py": {"lightning", "pytorch_lightning"}}
        folder = os.path.dirname(idleburn.__file__)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".py"):
                continue
            with open(os.path.join(folder, name)) as file:
                tree = ast.parse(file.read(), name, feature_version=(3, 8))
            imported = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    imported.add(node.module.split(".")[0])
            imported -= callbacks.get(name, set())
            if hasattr(sys, "stdlib_module_names"):
                self.assertLessEqual(imported, set(sys.stdlib_module_names), name)


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.steps = []
        self.modules = dict(sys.modules)

    def tearDown(self):
        sys.modules.clear()
        sys.modules.update(self.modules)

    def load(self, name):
        module = importlib.import_module(name)
        module.step = lambda *arguments: self.steps.append(arguments)
        return module

    def test_nothing_heavy_is_imported(self):
        code = "import sys, idleburn; print([m for m in ('transformers', 'lightning', 'torch') if m in sys.modules])"
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(run.stdout, "[]\n")

    def hugging_face(self, **arguments):
        """The callback, and the arguments of a Trainer of one rank, unless `arguments` say more."""
        sys.modules["transformers"] = types.SimpleNamespace(TrainerCallback=object)
        sys.modules.pop("idleburn.huggingface", None)
        usual = {"train_batch_size": 8, "gradient_accumulation_steps": 4, "world_size": 1, "process_index": 0}
        return self.load("idleburn.huggingface").Callback(), types.SimpleNamespace(**{**usual, **arguments})

    def test_hugging_face(self):
        callback, args = self.hugging_face(gradient_accumulation_steps=1)

        def train(*states):
            callback.on_train_begin(args, types.SimpleNamespace(epoch=states[0][0], num_input_tokens_seen=states[0][1]),
                                    None)
            for epoch, tokens in states[1:]:
                callback.on_step_end(args, types.SimpleNamespace(epoch=epoch, num_input_tokens_seen=tokens), None)

        train((0, 0), (0.5, 0), (1.2, 4096))
        self.assertEqual(self.steps, [(8, None, 0), (8, 4096, 1)])
        # Another training in this process, resumed after three of six epochs: it does the other three.
        self.steps.clear()
        train((3.0, 90_000), (3.5, 90_500), (4.0, 91_000), (6.0, 93_000))
        self.assertEqual(self.steps, [(8, 500, 1), (8, 500, 2), (8, 2000, 4)])

    def train_hugging_face(self, epochs, loader=None, model=None, seen_twice=1, lengths=(), batch=None, **arguments):
        """Does what the Trainer does on each rank, whose batches have `lengths` of tokens on rank 0, one more on each
        further rank, and adds up what all ranks say."""
        said = [0, 0, 0]
        ranks = arguments.get("world_size", 1)
        for rank in range(ranks):
            self.steps.clear()
            callback, args = self.hugging_face(process_index=rank, **arguments)
            state = types.SimpleNamespace(epoch=0, num_input_tokens_seen=0, train_batch_size=batch)
            with_it = {"model": model, "train_dataloader": loader}
            callback.on_train_begin(args, state, None, **with_it)
            for epoch in range(epochs):
                for i, length in enumerate(lengths):
                    groups = ranks // seen_twice
                    state.num_input_tokens_seen += seen_twice * sum(length + group for group in range(groups))
                    if (i + 1) % args.gradient_accumulation_steps == 0 or i + 1 == len(lengths):
                        state.epoch = epoch + (i + 1) / len(lengths)
                        callback.on_step_end(args, state, None, **with_it)
                    else:
                        callback.on_substep_end(args, state, None, **with_it)
            said[0] = max(said[0], len(self.steps))
            said[1] += sum(samples for samples, _, _ in self.steps)
            said[2] += sum(tokens or 0 for _, tokens, _ in self.steps)
        return said

    def test_hugging_face_ranks_add_up(self):
        # Each batch has 8 samples; those of rank 1 have a token more. Odd sums: no rank's share is the half.
        lengths = [100, 301, 50, 77, 8, 900, 41]
        tokens = 3 * (2 * sum(lengths) + len(lengths))
        said = self.train_hugging_face(3, lengths=lengths, world_size=2)
        self.assertEqual(said, [3 * 2, 3 * 7 * 8 * 2, tokens])  # 7 batches are 2 steps, of 4 and of 3

    def test_hugging_face_ranks_that_share_their_samples(self):
        lengths = [100, 301, 50]
        of_two_groups = 2 * sum(lengths) + len(lengths)
        for model, more in (
            (types.SimpleNamespace(_tp_size=2), {}),
            (None, {"hf_deepspeed_config": types.SimpleNamespace(config={"tensor_parallel": {"autotp_size": 2}})}),
            (None, {"parallelism_config": types.SimpleNamespace(tp_size=1, cp_size=2, sp_size=1)}),
            (None, {"parallelism_config": types.SimpleNamespace(tp_size=2, cp_size=1)}),
        ):
            said = self.train_hugging_face(1, model=model, seen_twice=2, lengths=lengths, world_size=4,
                                           train_batch_size=5, **more)
            self.assertEqual(said, [1, 3 * 5 * 2, of_two_groups], more)
        # A part of each sequence on each rank: the Trainer's sum over the ranks is right, and the samples are not.
        parts = {"parallelism_config": types.SimpleNamespace(tp_size=1, cp_size=1, sp_size=2)}
        said = self.train_hugging_face(1, lengths=lengths, world_size=2, **parts)
        self.assertEqual(said, [1, 3 * 8, 2 * sum(lengths) + len(lengths)])

    def test_hugging_face_counts_the_batches_it_is_given(self):
        class Sampler:
            def __len__(self):
                return 43

        def loader(drop_last):
            return types.SimpleNamespace(batch_sampler=types.SimpleNamespace(sampler=Sampler(), drop_last=drop_last))

        # 43 samples in batches of 8: the last has 3 of them, unless it is left out.
        self.assertEqual(self.train_hugging_face(2, loader=loader(False), lengths=[1] * 6)[1], 2 * 43)
        self.assertEqual(self.train_hugging_face(2, loader=loader(True), lengths=[1] * 5)[1], 2 * 40)
        # The Trainer has found that only 4 fit into memory.
        self.assertEqual(self.train_hugging_face(1, loader=loader(False), lengths=[1] * 11, batch=4)[1], 43)
        # Two ranks are given as much: the last batches are filled up.
        said = self.train_hugging_face(1, loader=loader(False), lengths=[1] * 3, world_size=2)
        self.assertEqual(said[1], 3 * 8 * 2)
        # Or each batch is split among them.
        split = types.SimpleNamespace(split_batches=True)
        said = self.train_hugging_face(1, lengths=[1] * 3, world_size=3, accelerator_config=split)
        self.assertEqual(said[1], 3 * 8)
        # A stream has no length.
        stream = types.SimpleNamespace(batch_sampler=types.SimpleNamespace(sampler=object(), drop_last=False))
        self.assertEqual(self.train_hugging_face(1, loader=stream, lengths=[1] * 6)[1], 6 * 8)

    def test_hugging_face_forgets_the_batches_of_a_training_that_failed(self):
        callback, args = self.hugging_face()
        state = types.SimpleNamespace(epoch=0.1, num_input_tokens_seen=0, train_batch_size=8)
        callback.on_train_begin(args, state, None)
        for _ in range(3):
            callback.on_substep_end(args, state, None)
        callback.on_train_begin(args, state, None)
        callback.on_step_end(args, state, None)
        self.assertEqual(self.steps, [(8, None, 0)])

    def test_lightning(self):
        sys.modules["lightning"] = types.SimpleNamespace()
        sys.modules["lightning.pytorch"] = types.SimpleNamespace(Callback=object)
        callback = self.load("idleburn.lightning").Callback()
        tensor = types.SimpleNamespace(shape=(16, 3))
        trainer = types.SimpleNamespace(current_epoch=2)  # resumed
        callback.on_train_start(trainer, None)
        for batch in ([tensor, tensor], {"x": tensor}, tensor, "text", []):
            callback.on_train_batch_end(trainer, None, None, batch, 0)
        trainer.is_last_batch = True
        callback.on_train_batch_end(trainer, None, None, tensor, 0)
        self.assertEqual(self.steps, [(16, None, 0)] * 3 + [(None, None, 0)] * 2 + [(16, None, 1)])
        trainer.current_epoch = 5
        callback.on_train_batch_end(trainer, None, None, tensor, 0)
        self.assertEqual(self.steps[-1], (16, None, 4))
        # Three ranks of tensor parallelism are given the same batch; without it each has its own.
        self.steps.clear()
        mesh = {"tensor_parallel": types.SimpleNamespace(size=lambda: 3)}
        for strategy, ranks, samples in ((types.SimpleNamespace(device_mesh=mesh), 6, 2 * 16),
                                         (types.SimpleNamespace(device_mesh=(2, 3)), 6, 6 * 16),
                                         (types.SimpleNamespace(), 6, 6 * 16)):
            trainer.strategy = strategy
            for trainer.global_rank in range(ranks):
                callback.on_train_batch_end(trainer, None, None, tensor, 0)
            self.assertEqual(sum(step[0] for step in self.steps), samples)
            self.steps.clear()


if __name__ == "__main__":
    unittest.main()
