#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program with debug information that is no good, as assembly: crafted_dwarf.py KIND [FILE or DEPTH] >KIND.s

Each kind is one unit that covers the function `hot`:

    plain     nothing wrong: the twin
    abbrevs   two million abbreviations, of which the last is used
    lines     a line table of 200 million rows, which compresses to nothing
    nested    functions inlined into one another 200,000 deep, or DEPTH, each an instance of itself
    sibling   an entry that says that it is its own sibling
    sizes     lengths and counts that go beyond everything
    dwo       a skeleton whose rest is in FILE
"""
import sys

# The program itself: the same bytes for all kinds.
TEMPLATE = """
	.text
	.globl hot, main
	.type hot, @function
hot:	xor %eax, %eax
	mov $10000, %ecx
1:	test $3, %cl
	jz 2f
	add %ecx, %eax
2:	dec %ecx
	jnz 1b
	ret
hot_end:
	.size hot, .-hot
	.globl hot_end
	.type main, @function
main:	push %rbx
	mov $60000, %ebx
1:	call hot
	dec %ebx
	jnz 1b
	xor %eax, %eax
	pop %rbx
	ret
	.size main, .-main
	.section .debug_abbrev,"",@progbits
{abbrev}
	.section .debug_info,"",@progbits
	.4byte info_end - info_begin
info_begin:
	.2byte 5
	.byte {unit_type}, 8
	.4byte .debug_abbrev
{unit_id}
{info}
info_end:
	.section .debug_line,"",@progbits
line_table:
	.4byte {line_length}
line_begin:
	.2byte 5
	.byte 8, 0
	.4byte lines_begin - 1f
1:	.byte 1, 1, 1, 0xfb, 14, 13
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 1
	.uleb128 1, 8
	.uleb128 1
	.asciz "/nowhere"
	.byte 2
	.uleb128 1, 8, 2, 11
	.uleb128 {file_cnt}
	.asciz "crafted.c"
	.byte 0
lines_begin:
	.byte 0, 9, 2
	.8byte hot
	.byte 4, 0, 1
{rows}
	.byte 2
	.uleb128 hot_end - hot
	.byte 0, 1, 1
line_end:
	.section .note.GNU-stack,"",@progbits
"""

# What the unit's entry has: name, directory, line table, low_pc, high_pc
UNIT = """	.uleb128 {code}
	.uleb128 0x11
	.byte {children}
	.uleb128 0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06{more}, 0, 0
"""
UNIT_ENTRY = """	.uleb128 {code}
	.asciz "crafted.c"
	.asciz "/nowhere"
	.4byte line_table
	.8byte hot
	.4byte hot_end - hot
"""


def unit(code=1, children=1, more=""):
    return UNIT.format(code=code, children=children, more=more)


def subprogram(code, tag=0x2E, children=0, more=""):
    """name, low_pc, high_pc"""
    return (f"\t.uleb128 {code}\n\t.uleb128 {tag}\n\t.byte {children}\n"
            f"\t.uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06{more}, 0, 0\n")


def function(code):
    return f'\t.uleb128 {code}\n\t.asciz "hot"\n\t.8byte hot\n\t.4byte hot_end - hot\n'


def plain():
    return {"abbrev": unit() + subprogram(2) + "\t.byte 0\n",
            "info": UNIT_ENTRY.format(code=1) + function(2) + "\t.byte 0\n"}


def abbrevs():
    last = 2_000_000
    many = f"\t.set number, 3\n\t.rept {last}\n\t.uleb128 number\n\t.set number, number + 1\n\t.byte 0x34, 0, 3, 8, 0, 0\n\t.endr\n"
    return {"abbrev": unit() + many + subprogram(last + 3) + "\t.byte 0\n",
            "info": UNIT_ENTRY.format(code=1) + function(last + 3) + "\t.byte 0\n"}


def lines():
    parts = plain()
    parts["rows"] = "\t.fill 200000000, 1, 0x4b\n"
    return parts


def nested(depth=200_000):
    # One of 20 bytes after the other; to ask the assembler where each begins takes it quadratic time.
    inner = (f"inner:\t.set at, inner - info_begin + 4\n\t.rept {depth}\n\t.uleb128 3\n\t.asciz \"in\"\n"
             "\t.8byte hot\n\t.4byte hot_end - hot\n\t.4byte at\n\t.set at, at + 20\n\t.endr\n"
             f"\t.fill {depth}, 1, 0\n")
    return {"abbrev": unit() + subprogram(2, children=1) +
                      subprogram(3, 0x1D, 1, ", 0x31, 0x13") + "\t.byte 0\n",
            "info": UNIT_ENTRY.format(code=1) + function(2) + inner + "\t.byte 0, 0\n"}


def sibling():
    return {"abbrev": unit() + subprogram(2, more=", 0x01, 0x13") + "\t.byte 0\n",
            "info": UNIT_ENTRY.format(code=1) + "own:" + function(2) +
                    "\t.4byte own - info_begin + 4\n\t.byte 0\n"}


def sizes():
    parts = plain()
    parts["line_length"] = "0xffffffef"
    parts["file_cnt"] = "0xffffffffffffff"
    return parts


def dwo(name):
    more = ", 0x76, 0x08"
    return {"abbrev": unit(children=0, more=more) + "\t.byte 0\n", "unit_type": 4,
            "unit_id": "\t.8byte 0x1234\n",
            "info": UNIT_ENTRY.format(code=1) + f'\t.asciz "{name}"\n'}


def main():
    parts = {"unit_type": 1, "unit_id": "", "rows": "", "line_length": "line_end - line_begin",
             "file_cnt": 1}
    parts.update(globals()[sys.argv[1]](*sys.argv[2:]))
    sys.stdout.write(TEMPLATE.format(**parts))


main()
