"""What is read in the text of faulthandler."""

from __future__ import annotations

import pytest
from launch_runtime import stacks
from launch_runtime.stacks import MOST_FRAMES, MOST_THREADS, Wait, read, shown, waits_in

LIBRARY = "/opt/venv/lib/python3.11"
TORCH = f"{LIBRARY}/site-packages/torch"
RUNS = """\
  File "/code/launch_runtime/rank/user_script.py", line 99 in execute
  File "/code/launch_runtime/rank/guard.py", line 118 in run
  File "/code/guard.py", line 22 in <module>
"""
MAIN = f"""\
Current thread 0x00007f26a45f2b80 (most recent call first):
  File "{TORCH}/distributed/distributed_c10d.py", line 1541 in all_reduce
  File "{TORCH}/distributed/c10d_logger.py", line 83 in wrapper
  File "/code/src/train.py", line 12 in step
  File "/code/src/train.py", line 20 in <module>
{RUNS}"""
OTHERS = f"""\
Thread 0x00007f26a2dfe6c0 [loader-1] (most recent call first):
  File "/code/src/data.py", line 7 in fetch
  File "{LIBRARY}/threading.py", line 982 in run
  File "{LIBRARY}/threading.py", line 1045 in _bootstrap_inner
  File "{LIBRARY}/threading.py", line 1002 in _bootstrap

Thread 0x00007f26a35ff6c0 (most recent call first):
  File "{LIBRARY}/threading.py", line 331 in wait
  File "/code/launch_runtime/rank/progress.py", line 50 in _count
  File "{LIBRARY}/threading.py", line 1002 in _bootstrap

Thread 0x00007f26a35ff6c1 (most recent call first):
  File "{LIBRARY}/concurrent/futures/thread.py", line 81 in _worker
  File "{LIBRARY}/threading.py", line 1002 in _bootstrap

"""
WAITS = (Wait("/torch/distributed/"), Wait("/torch/autograd/", ("backward",)))


def test_the_main_thread_comes_first_and_launchs_own_frames_and_idle_threads_are_left_out() -> None:
    main, loader = read(OTHERS + MAIN)
    assert (main.is_main, loader.is_main, loader.name) == (True, False, "loader-1")
    assert [str(frame) for frame in main.frames][-2:] == [
        "train.py:12 step",
        "train.py:20 <module>",
    ]
    assert str(loader.own) == "data.py:7 fetch"
    assert shown([main, loader]) == [
        "  main thread, most recent call first:",
        f'    File "{TORCH}/distributed/distributed_c10d.py", line 1541 in all_reduce',
        f'    File "{TORCH}/distributed/c10d_logger.py", line 83 in wrapper',
        '    File "/code/src/train.py", line 12 in step',
        '    File "/code/src/train.py", line 20 in <module>',
        "  thread loader-1, most recent call first:",
        '    File "/code/src/data.py", line 7 in fetch',
        f'    File "{LIBRARY}/threading.py", line 982 in run',
    ]


# the frames above the user's; where it waits
PLACES = {
    "an exchange": (f"{TORCH}/distributed/distributed_c10d.py", "all_reduce", "all_reduce"),
    "backward": (f"{TORCH}/autograd/__init__.py", "backward", "backward"),
    "another function there": (f"{TORCH}/autograd/function.py", "apply", ""),
    "an import": (f"{TORCH}/distributed/__init__.py", "<module>", ""),
    "a loader": (f"{TORCH}/utils/data/dataloader.py", "_try_get_data", ""),
}


@pytest.mark.parametrize("how", PLACES)
def test_a_rank_waits_where_its_strategy_says_so(how: str) -> None:
    path, function, expected = PLACES[how]
    text = f'Current thread 0x1 (most recent call first):\n  File "{path}", line 1 in {function}\n'
    text += '  File "/code/src/train.py", line 20 in <module>\n' + RUNS
    assert waits_in(read(text)[0], WAITS) == expected


def test_what_the_users_code_does_within_an_exchange_is_no_waiting() -> None:
    text = MAIN.replace("\n", '\n  File "/code/src/hooks.py", line 3 in compress\n', 1)
    assert waits_in(read(text)[0], WAITS) == ""


def test_a_forked_process_is_shown_without_its_parents_calls() -> None:
    text = f"""\
Current thread 0x1 (most recent call first):
  File "/code/src/data.py", line 7 in __getitem__
  File "{LIBRARY}/multiprocessing/process.py", line 108 in run
  File "{LIBRARY}/multiprocessing/process.py", line 314 in _bootstrap
  File "{LIBRARY}/multiprocessing/popen_fork.py", line 71 in _launch
  File "/code/src/train.py", line 20 in <module>
{RUNS}"""
    (thread,) = read(text)
    assert [frame.function for frame in thread.frames] == ["__getitem__", "run"]


def test_many_threads_and_deep_stacks_are_cut_and_equal_ones_are_told_once() -> None:
    deep = "".join(f'  File "/code/src/a.py", line {n} in f\n' for n in range(100))
    other = 'Thread 0x{0} (most recent call first):\n  File "/code/src/b.py", line {1} in g\n\n'
    text = "".join(other.format(n, n) for n in range(2 * MOST_THREADS))
    text += other.format(900, 1) + "Current thread 0x1 (most recent call first):\n" + deep
    found = shown(read(text))
    assert f"    ... {100 - MOST_FRAMES} more" in found
    assert "  thread and 1 more like it, most recent call first:" in found
    assert found[-1] == f"  ... {2 * MOST_THREADS + 1 - MOST_THREADS} more threads"
    assert found[1] == '    File "/code/src/a.py", line 0 in f'


@pytest.mark.parametrize("text", ["", "no stack", "Thread 0x1 (most recent call first):\n"])
def test_what_is_no_stack_gives_none(text: str) -> None:
    assert [thread.frames for thread in stacks.read(text)] in ([], [()])
