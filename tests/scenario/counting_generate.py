#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A C program of random functions with all that makes paths: loops, switches, jumps into loops,
computed jumps, setjmp() and longjmp(), recursion, calls that end the process; on request many loops
that call nothing.

    counting_generate.py SEED FUNCTIONS [turns]
"""
import random
import sys

HEAD = """
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned int state = %du, budget = 20000;
static jmp_buf back;
static int may_jump, list[16];

static unsigned int draw(unsigned int n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 16) %% n;
}
/* Whatever the functions do, they come to an end. */
static int spent(void)
{
	return budget ? (budget--, 0) : 1;
}
__attribute__((noreturn, noinline)) static void leave(int x)
{
	printf("left with %%d\\n", x & 1);
	exit(0);
}
"""


# Loops with one way, left at one place or several, at once or never by itself; the last two have more ways.
TURNS = """
for (int i = 0; i < (x & 15); i++) list[i] += y;
for (unsigned int i = x & 7; i; i--) y += list[i];
{ int i = 0; do { list[i & 15] ^= i; } while (++i < (y & 31)); }
for (int i = 0; i < 16; i++) if (list[i] == (x & 63)) break;
{ unsigned int i = (unsigned int)x; while (i > 9 && list[i & 15] != y) i = i / 2 + (i & 1); x = (int)i; }
{ unsigned int i = (unsigned int)y; for (;;) { if (!i) break; i >>= 1; if (i % 61 == 7) return (int)i; } }
for (int i = 0; i < (x & 3); i++) for (int j = 0; j < (y & 7); j++) list[(i + j) & 15] += i;
for (int i = 0; i < (y & 7); i++) { for (int j = i; j < 5; j++) if (list[j] & 64) goto out_LABEL; x++; } out_LABEL: y++;
for (int i = 0; i < (x & 15); i++) if (list[i] & 1) y ^= i; else list[i]++;
for (int i = 0; i < (x & 7); i++) list[i] += (int)draw(3);
""".split("\n")[1:-1]


class Function:
    def __init__(self, number, rng, has_turns):
        self.number, self.rng, self.labels, self.has_turns = number, rng, 0, has_turns

    def value(self):
        return self.rng.choice(["x", "y", "x + y", "x ^ 5", "y * 3", "draw(7)"])

    def condition(self):
        return self.rng.choice(["draw(3)", "draw(2) && x % 3", "x & 1", "y > x", "draw(4) == 1",
                                "(x ^ y) & 2 || draw(2)"])

    def block(self, depth, loops):
        return "".join(self.statement(depth, loops) for _ in range(self.rng.randint(1, 3)))

    def statement(self, depth, loops):
        kinds = [self.assign, self.assign, self.call] + [self.turns] * 6 * self.has_turns
        if depth < 4:
            kinds += [self.branch] * 4 + [self.loop] * 2 + [self.switch, self.tangle, self.computed,
                                                           self.many, self.catch]
        if loops:
            kinds += [lambda d, l: "if (%s) continue;\n" % self.condition(),
                      lambda d, l: "if (%s) break;\n" % self.condition()]
        kinds += [lambda d, l: "if (draw(9) == 0) return %s;\n" % self.value(),
                  lambda d, l: "if (draw(4000) == 0) leave(x);\n",
                  lambda d, l: "if (may_jump && draw(6) == 0) longjmp(back, 1);\n"]
        return self.rng.choice(kinds)(depth, loops)

    def assign(self, depth, loops):
        return "%s = %s;\n" % (self.rng.choice("xy"), self.value())

    def call(self, depth, loops):
        callee = self.rng.randint(0, max(self.number, 1) - 1) if self.rng.random() < 0.8 else self.number
        if callee == self.number:
            return "if (!spent()) y += f%d(x - 1, y);\n" % callee
        return "if (!spent()) x ^= f%d(%s, y);\n" % (callee, self.value())

    def branch(self, depth, loops):
        text = "if (%s) {\n%s}" % (self.condition(), self.block(depth + 1, loops))
        if self.rng.random() < 0.6:
            text += " else {\n%s}" % self.block(depth + 1, loops)
        return text + "\n"

    def loop(self, depth, loops):
        body = self.block(depth + 1, True)
        if self.rng.random() < 0.5:
            return "while (!spent() && %s) {\n%s}\n" % (self.condition(), body)
        return "do {\n%s} while (!spent() && %s);\n" % (body, self.condition())

    def turns(self, depth, loops):
        self.labels += 1
        return self.rng.choice(TURNS).replace("LABEL", str(self.labels)) + "\n"

    def switch(self, depth, loops):
        cases = "".join("case %d:\n%s%s" % (i, self.block(depth + 1, False),
                                            self.rng.choice(["break;\n", ""]))
                        for i in range(self.rng.randint(2, 7)))
        return "switch (draw(8)) {\n%sdefault:\ny++;\n}\n" % cases

    def tangle(self, depth, loops):
        """A loop with two ways in."""
        self.labels += 1
        n = self.labels
        return ("if (%s) goto in_%d;\nagain_%d:\n%sin_%d:\n%sif (!spent() && %s) goto again_%d;\n" %
                (self.condition(), n, n, self.block(depth + 1, False), n,
                 self.block(depth + 1, False), self.condition(), n))

    def computed(self, depth, loops):
        self.labels += 1
        n = self.labels
        return ("{ static void *const to[] = {&&a_%d, &&b_%d, &&c_%d};\ngoto *to[draw(3)];\n"
                "a_%d: x++;\nb_%d:\n%sc_%d: y--;\nif (!spent() && draw(5) == 0) goto *to[draw(3)]; }\n" %
                (n, n, n, n, n, self.block(depth + 1, False), n))

    def many(self, depth, loops):
        """So many paths that they are counted by hash."""
        return "".join("if (draw(2)) { x += %d; budget -= budget > 3; }\n" % i
                       for i in range(self.rng.randint(3, 14)))

    def catch(self, depth, loops):
        """What is called may jump back here, and nothing else may."""
        return ("if (!may_jump) {\nmay_jump = 1;\nif (setjmp(back) == 0) {\n%sy++;\n} else {\nx++;\n}\n"
                "may_jump = 0;\n}\n" % self.call(depth, loops))

    def text(self):
        kind = self.rng.choice(["static ", "__attribute__((noinline)) ", ""])
        return ("%sint f%d(volatile int x, volatile int y)\n{\n%sreturn %s;\n}\n" %
                (kind, self.number, self.block(0, False),
                 self.rng.choice(["x", "x - y", "f0(x, y)"]) if self.number else "x"))


def main():
    seed, cnt = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    print(HEAD % seed)
    for i in range(cnt):
        print(Function(i, rng, "turns" in sys.argv[3:]).text())
    print("int main(void)\n{\nint x = 0;")
    for i in range(cnt):
        print("for (int i = 0; i < 20; i++) { budget += 40; x += f%d(i, x); may_jump = 0; }" % i)
    print('printf("%d\\n", x & 1);\nreturn 0;\n}')


if __name__ == "__main__":
    main()
