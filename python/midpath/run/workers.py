"""Worker processes on this machine.

Each is a separate Python process that reads tasks from standard input, one at a time. A run that kills its process
(out of memory, say) fails alone; the next task gets a new process. Python's own pool then breaks as a whole, and
reruns the user's script in each worker.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO

from midpath.errors import WorkerError
from midpath.run.key import build
from midpath.run.task import Outcome, Task, failed, perform


class Workers:
    """As many processes as there are jobs; each starts with its first task. A run that takes longer than `limit_s` is
    ended, and has failed.
    """

    def __init__(self, jobs: int, limit_s: float | None = None) -> None:
        self._limit_s = limit_s
        # Enough that none waits for the next task, and few enough that ten thousand don't fill memory.
        self.width = 4 * jobs
        self._pool = ThreadPoolExecutor(jobs)
        self._own = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, task: Task) -> Future[Outcome]:
        """Has a task done by the next process that is free."""
        return self._pool.submit(self._do, task)

    def close(self) -> None:
        """Stops all processes, whatever they are doing: what is not in the store yet is not done."""
        with self._lock:
            self._closed = True
            for process in self._all:
                process.kill()
        self._pool.shutdown(cancel_futures=True)
        for process in self._all:
            _end(process)

    def _do(self, task: Task) -> Outcome:
        process = self._process()
        limit = _Limit(process, self._limit_s)
        try:
            pickle.dump(task, _pipe(process.stdin))
            _pipe(process.stdin).flush()
            answer = pickle.load(_pipe(process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):
            why = self._lost(process)
            return failed(task, limit.why if limit.is_over else why)
        finally:
            limit.cancel()
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Outcome)
        return answer

    def _process(self) -> subprocess.Popen[bytes]:
        """The process of the thread that asks."""
        found: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if found is None:
            with self._lock:
                if self._closed:
                    raise KeyboardInterrupt
                found = _start()
                self._all.append(found)
            self._own.process = found
            self._greet(found)
        return found

    def _greet(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for a process to be ready. One that does not start would fail every run that it is given."""
        try:
            pickle.load(_pipe(process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):
            raise WorkerError(f"a worker did not start: {self._lost(process)}") from None

    def _lost(self, process: subprocess.Popen[bytes]) -> str:
        """How a process ended; the thread's next task starts another."""
        with self._lock:
            self._all.remove(process)
            if self._closed:
                self._all.append(process)
                raise KeyboardInterrupt
        self._own.process = None
        code = _end(process)
        if code >= 0:
            return f"its process exited with code {code}"
        why = ", perhaps out of memory" if -code == signal.SIGKILL else ""
        return f"its process was killed by {signal.Signals(-code).name}{why}"


class _Limit(threading.Timer):
    """Ends a process whose run takes too long."""

    def __init__(self, process: subprocess.Popen[bytes], limit_s: float | None) -> None:
        super().__init__(limit_s or 0.0, self._expire)
        self.is_over, self.why = False, f"it did not end within {limit_s} s"
        self._killed = process
        if limit_s:
            self.daemon = True
            self.start()

    def _expire(self) -> None:
        self.is_over = True
        self._killed.kill()


def _start() -> subprocess.Popen[bytes]:
    # The same modules as here, wherever they were found. A session of its own: Ctrl-C is for the sweep, not for it.
    program = f"import sys; sys.path[:] = {sys.path!r}; from midpath.run.workers import serve; serve()"
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def _end(process: subprocess.Popen[bytes]) -> int:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        try:
            _pipe(pipe).close()
        except OSError:
            continue  # what was still to be written goes nowhere
    return process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise OSError("a worker has no pipe")
    return pipe


def serve() -> None:
    """A worker: tasks in, outcomes out, until its input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    # What a library prints goes to where messages go.
    os.dup2(2, 1)
    pickle.dump(build(), answers)
    answers.flush()
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        answer: Outcome | Exception
        try:
            answer = perform(tasks.get())
        except Exception as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


def _listen(tasks: queue.SimpleQueue[Task]) -> None:
    """Hands tasks over; without the sweep there is nobody to work for, not even for the run that is going on."""
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    except (EOFError, pickle.UnpicklingError):
        os._exit(0)
