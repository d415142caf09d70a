"""Compiled programs of JAX: which reductions are read from their text."""

from __future__ import annotations

import pytest
from launch_runtime.strategies.jax_programs import reductions

# Lines of compiled programs: jax 0.10.2 on two processes, and forms of other versions of XLA.
PROGRAMS: dict[str, tuple[str, int, list[tuple[int, list[list[int]]]]]] = {
    "an all-reduce over a mesh": (
        (
            "  %all-reduce = f32[10,100]{1,0} all-reduce(%dot.1), channel_id=1, "
            "replica_groups=mesh['axis_0'=2,'axis_1'=1] {'axis_0'}, use_global_device_ids=true, "
            'to_apply=%add.clone, metadata={op_name="jit(step)/transpose(jvp())/dot_general"}'
        ),
        2,
        [(1000, [[0, 1]])],
    ),
    "over the second axis of a mesh": (
        "  %r = f32[8]{0} all-reduce(%x), replica_groups=mesh['a'=2,'b'=2] {'b'}, to_apply=%add",
        4,
        [(8, [[0, 1], [2, 3]])],
    ),
    "over the first axis of a mesh": (
        "  %r = f32[8]{0} all-reduce(%x), replica_groups=mesh['a'=2,'b'=2] {'a'}, to_apply=%add",
        4,
        [(8, [[0, 2], [1, 3]])],
    ),
    "several values, listed groups": (
        (
            "  %r = (f32[2,3]{1,0}, bf16[]) all-reduce-start(f32[2,3]{1,0} %a, bf16[] %b), "
            "channel_id=1, replica_groups={{0,2},{1,3}}, to_apply=%add"
        ),
        4,
        [(7, [[0, 2], [1, 3]])],
    ),
    "all devices": (
        "  ROOT %r = f32[4]{0} reduce-scatter(%a), replica_groups={}, dimensions={0}",
        3,
        [(4, [[0, 1, 2]])],
    ),
    "an iota": (
        "  %r = f32[4]{0} all-to-all(%a), replica_groups=[2,2]<=[4], dimensions={0}",
        4,
        [(4, [[0, 1], [2, 3]])],
    ),
    "a turned iota, which is not read": (
        "  %r = f32[4]{0} all-reduce(%a), replica_groups=[2,2]<=[2,2]T(1,0), to_apply=%add",
        4,
        [(4, [])],
    ),
    "pairs": (
        "  %r = f32[4]{0} collective-permute(%a), source_target_pairs={{0,1},{1,0}}",
        2,
        [(4, [[0, 1], [1, 0]])],
    ),
    "a gather, and a fusion that has one's name": (
        (
            "  ROOT %all-gather = f32[200,10]{1,0} all-gather(%p), replica_groups={{0,1}}\n"
            "  ROOT %f = f32[100,10]{1,0} fusion(%p, %all-reduce), kind=kLoop, calls=%c"
        ),
        2,
        [],
    ),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_the_reductions_of_a_compiled_program_are_read(what: str) -> None:
    text, devices, expected = PROGRAMS[what]
    assert reductions(text, devices) == expected
