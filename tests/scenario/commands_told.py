# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the commands that the project tells its readers exist.

    commands_told.py BIN ROOT

Pages, manual pages, units, manifests and strings of the programs name commands. Each is given to the
program itself, with an option behind it that no program has: no other word may be complained of. A verb,
an option, a value or a target of make that is gone or misspelt is told with its file and line. Exit status
1 if there is one, or if hardly any command was found.
"""
import glob, os, re, shlex, subprocess, sys

BIN, ROOT = sys.argv[1:3]
NONE = "--option-that-is-none"
NOWHERE = {**os.environ, "PATHPROF_DB": "/nonexistent/x.db"}
PAGES = ["README.md", "CONTRIBUTING.md", "docs/**/*.md", "packaging/**/*", "systemd/*"]
PROGRAMS = "pathprof(?:ctl|d|-trace|-lab|-hub|-relay)"
RUNS = re.compile("pathprof-trace|pathprofctl record|pathprofd .*--record")
COMPLAINT = r"no such option|unrecognized option|no such verb|no command|no such parameter|not a valid"
# What stands for a value: `FILE`, `$(pidof app)`, `%s`.
STANDS_FOR = r"(^|\s)[A-Z][A-Z0-9_.|-]*\W*$|[%$<{]"


def files(patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if os.path.isfile(path):
                yield path, open(path, errors="replace").read()


def places():
    """(file, line, text) of what is in a block of code, in `...`, or in a string of a program."""
    for path, text in files(PAGES):
        yield from of_page(path, text)
    for path, text in files(["docs/man/*"]):
        for number, line in enumerate(text.split("\n"), 1):
            yield path, number, re.sub(r"\\-", "-", re.sub(r"\\f[A-Z]|^\.[A-Z]+ ", "", line))
    for path, text in files(["daemon/**/*.c", "tools/**/*.c", "libprofile/**/*.c"]):
        for number, line in enumerate(text.split("\n"), 1):
            for string in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                yield path, number, string.replace("\\n", " ")


def of_page(path, text):
    in_block = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            in_block = not in_block
        elif in_block or line.startswith("    ") or not path.endswith(".md"):
            yield path, number, re.sub(r"\s+# .*", "", line)
    for quoted in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
        if "\n\n" not in quoted[1]:
            yield path, text.count("\n", 0, quoted.start()) + 1, "`" + " ".join(quoted[1].split())


def words_of(command):
    """The words of one command, without the brackets of what may be left out."""
    lexer = shlex.shlex(re.sub(r"[][]|\.\.\.", "", command), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words = []
    try:
        for word in lexer:
            if word in ("--", "-", "#") or set(word) <= set("|&;<>"):
                break
            words.append(word)
    except ValueError:  # a quotation mark that another line closes
        pass
    return words


def commands():
    """(file, line, words) of each command, once: what has an option, or is quoted with its verb."""
    seen = set()
    for path, line, text in places():
        for program, rest in re.findall(r"(?:^|[\s`'\"(=/])(%s) ([^`]*)" % PROGRAMS, text):
            words = (program, *words_of(rest))
            told = any(w.startswith("-") for w in words) or re.match("`pathprof(ctl|-hub) [a-z]", text)
            if told and words not in seen:
                seen.add(words)
                yield os.path.relpath(path, ROOT), line, words


def complaint(words):
    if RUNS.match(" ".join(words)):  # another command behind its own words
        words = words[:max([1] + [i for i, word in enumerate(words) if word.startswith("-")]) + 1]
    words = [word for word in words if word not in ("--help", "--version")]  # nothing is looked at behind these
    done = subprocess.run([os.path.join(BIN, words[0]), *words[1:], NONE, NONE], capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, timeout=60, env=NOWHERE)
    for line in done.stderr.split("\n"):
        said = re.search(COMPLAINT, line)
        if NONE in line:
            return None
        if said and not re.search(STANDS_FOR, line[:said.start()].rstrip(": ")):
            return line
    return None if done.returncode else "is taken, with an option that is none"


def targets():
    """(file, line, target) of each `make TARGET` that is quoted."""
    for path, line, text in places():
        for target in re.findall(r"^`make (?:[A-Z_]+=\S+ )*([a-z][a-z-]*)", text):
            yield os.path.relpath(path, ROOT), line, target


made = subprocess.run(["make", "-pnq", "-C", ROOT, "help"], capture_output=True, text=True).stdout
cnt = wrong = 0
for path, line, words in commands():
    cnt += 1
    said = complaint(words)
    if said:
        wrong += 1
        print("not ok commands_told: %s:%d: %s\n  %s" % (path, line, " ".join(words), said))
for path, line, target in targets():
    cnt += 1
    if not re.search("^%s:" % re.escape(target), made, re.M):
        wrong += 1
        print("not ok commands_told: %s:%d: make %s: no such target" % (path, line, target))
print("%s commands_told: %d commands of pages and messages, %d of them wrong" %
      ("not ok" if wrong or cnt < 200 else "ok", cnt, wrong))
sys.exit(wrong > 0 or cnt < 200)
