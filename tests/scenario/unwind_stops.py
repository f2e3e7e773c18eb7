# SPDX-License-Identifier: GPL-2.0-or-later
# Run by gdb, with the variables stops and out set: starts the program, and at each of so many stops
# by SIGPROF writes down registers, the stack, where code lies, and the chain that gdb finds.
import gdb

STACK_BYTES = 32768
RED_ZONE_BYTES = 128
REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()


def code():
    for line in open(f"/proc/{gdb.selected_inferior().pid}/maps"):
        span, rights, offset, _, _, *name = line.split(None, 5)
        if "x" in rights and name:
            start, end = span.split("-")
            yield f"code {start} {end} {offset} {name[0].strip()}"


def stack_end(address):
    for line in open(f"/proc/{gdb.selected_inferior().pid}/maps"):
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if start <= address < end:
            return end
    return address


def chain():
    frame = gdb.newest_frame()
    while frame and frame.pc():  # gdb gives what called Go's first function a frame at 0
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield f"{frame.pc():x}"
        frame = frame.older()


def write_stop(out):
    frame = gdb.newest_frame()
    values = [int(frame.read_register(name)) & (1 << 64) - 1 for name in REGISTERS]
    rsp = values[REGISTERS.index("rsp")]
    begin = rsp - RED_ZONE_BYTES
    stack = gdb.selected_inferior().read_memory(begin, min(STACK_BYTES, stack_end(rsp) - begin))
    print("stop", *(f"{value:x}" for value in values), file=out)
    for line in code():
        print(line, file=out)
    print("stack", f"{begin:x}", stack.tobytes().hex(), file=out)
    print("chain", *chain(), file=out)


for setting in (
    "pagination off",
    "confirm off",
    "backtrace past-main on",
    "backtrace past-entry on",
    "debuginfod enabled off",
):
    gdb.execute(f"set {setting}")
gdb.execute("handle SIGPROF stop print nopass", to_string=True)
gdb.execute("handle SIGUSR1 SIGURG nostop noprint pass", to_string=True)
gdb.execute("run >/dev/null", to_string=True)
with open(out, "w") as file:
    for _ in range(stops):
        write_stop(file)
        gdb.execute("continue", to_string=True)
gdb.execute("kill")
