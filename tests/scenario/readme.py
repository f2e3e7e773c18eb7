# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the commands of the README as they are written there.

    readme.py README

Words that stand for something (FILE, PATH-ID, ...) are replaced, and so is the one function that
Debian's gzip has no name for. A command ends with status 0 and says something, or is among those
that need another machine. Prints the verdict of each; exit status 1 if one failed.
"""
import re, subprocess, sys

# They install, build for minutes, need a hub, or more than a process namespace; tests of their own run them.
ELSEWHERE = r"make |sudo |pathprofctl --hub |pathprofctl record --value "
WORDS = {
    r"\bFILE\b": "file", r"\bSMALL\b": "small", r"\bLARGE\b": "large", r"\bPATH-ID\b": "1",
    r"longest_match\b": "churn", r":NUMBER\b": ":0",
}


def commands(text):
    """In code blocks the lines behind a prompt, or all lines where there is none; and `...` in text."""
    parts = re.split(r"^```.*$", text, flags=re.M)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            for words in re.findall(r"`([^`]+)`", part):
                words = " ".join(words.split())
                # as a name alone it is a reference
                if re.match(r"(build/bin/)?pathprof[a-z-]* [a-z-]+ .*(-- |-o )|pathprofctl --db \S+ [a-z]", words):
                    yield words
            continue
        lines = part.strip("\n").split("\n")
        prompts = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompts or [line for line in lines if re.match(r"(build/bin/)?pathprof|make |sudo ", line)]:
            yield re.sub(r"\s+# .*", "", line)


failed = ran = 0
for command in commands(open(sys.argv[1]).read()):
    if re.match(ELSEWHERE, command):
        continue
    for word, instead in WORDS.items():
        command = re.sub(word, instead, command)
    done = subprocess.run(["timeout", "900", "bash", "-c", command], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    ran += 1
    verdict = "ok" if done.returncode == 0 else "not ok"
    failed += done.returncode != 0
    print("%s readme: %s" % (verdict, command))
    if done.returncode:
        print("  status %d: %s" % (done.returncode, (done.stderr + done.stdout)[-400:]))
if ran < 18:
    print("not ok readme: %d commands were found in it" % ran)
sys.exit(failed > 0 or ran < 18)
