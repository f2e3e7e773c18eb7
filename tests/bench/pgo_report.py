#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and picture of docs/pgo.md: pgo_report.py RESULTS TABLES PICTURE, as pgo.sh calls it."""
import collections
import statistics
import sys

NAMES = {"lua": "Lua 5.4", "bzip2": "bzip2 1.0.8", "zstd": "zstd 1.5.4", "mujs": "MuJS 1.3.2",
         "jsoncpp": "JsonCpp 1.9.5", "pugixml": "pugixml 1.13"}
ROWS = [  # variant, how it was made, colour
    ("base", "clang -O2", "#8a8f98"),
    ("bolt-step", "BOLT, recorded", "#2f7ed8"),
    ("bolt-exact", "BOLT, exact trace", "#14406f"),
    ("bolt-step-other", "BOLT, recorded with other input", "#8fbbe8"),
    ("bolt-exact-other", "BOLT, exact trace of other input", "#5c7fa3"),
    ("clang-step", "clang, recorded", "#3f9f5f"),
    ("clang-exact", "clang, exact trace", "#1c5a33"),
    ("clang-step-other", "clang, recorded with other input", "#a3d3b2"),
    ("clang-instrumented", "clang, instrumented", "#6b7a3a"),
    ("both", "clang, then BOLT, both recorded", "#c8662b"),
]
OPTIONS = [
    ("blocks", "-reorder-blocks=ext-tsp"),
    ("cache", "-reorder-blocks=cache"),
    ("split", "ext-tsp, -split-functions"),
    ("cdsort", "ext-tsp, -reorder-functions=cdsort"),
    ("hfsort", "ext-tsp, -reorder-functions=hfsort"),
    ("all", "ext-tsp, cdsort, -split-functions -split-all-cold"),
    ("more", "the same and -inline-small-functions, -indirect-call-promotion, -frame-opt, -peepholes"),
]


def read(path):
    """{program: {variant: {key: value}}}, in the file's order."""
    got = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in open(path):
        words = line.split()
        if len(words) == 4:
            got[words[0]][words[1]][words[2]] = float(words[3])
    return got


def change(value, base):
    return f"{100 * (value / base - 1):+.1f} %".replace("-", "−")


def share(variants, variant, best="bolt-exact", key="taken"):
    """Of what the exact profile gains, in per cent."""
    base, most = variants["base"][key], variants[best][key]
    return 100 * (base - variants[variant][key]) / (base - most)


def best_of(variant):
    return "clang-exact" if variant.startswith("clang") else "bolt-exact"


def table(name, variants, out):
    base = variants["base"]
    print(f"| {name} | taken branches | | of the possible gain | instructions | time |\n"
          "|---|---:|---:|---:|---:|---:|", file=out)
    for variant, how, _ in ROWS:
        of = variants.get(variant, {})
        if "taken" not in of:
            continue
        best = best_of(variant)
        has_share = variant != "base" and variant != "both" and best in variants
        print(f"| {how} | {of['taken'] / 1e6:.1f} M "
              f"| {'' if variant == 'base' else change(of['taken'], base['taken'])} "
              f"| {f'{share(variants, variant, best):.0f} %' if has_share else ''} "
              f"| {'' if variant == 'base' else change(of['instructions'], base['instructions'])} "
              f"| {'%.2f' % of['time'] if 'time' in of else ''} |", file=out)
    if "gcc-step" in variants:
        gcc, step = variants["gcc"], variants["gcc-step"]
        print(f"| gcc-11 -O2 | {gcc['taken'] / 1e6:.1f} M | | | | |\n"
              f"| gcc-11, recorded | {step['taken'] / 1e6:.1f} M | {change(step['taken'], gcc['taken'])} "
              f"| | {change(step['instructions'], gcc['instructions'])} | |", file=out)
    step, dyno = variants["step"], [variants[v] for v in ("bolt-step", "bolt-exact")]
    figures = [change(v["dyno_after"], v["dyno_before"]) for v in dyno]
    print(f"\n{name}: {step['bursts']:.0f} bursts, density {step['density']:.1f}; by BOLT's own "
          f"statistics taken branches change by {figures[0]}, from the exact trace by {figures[1]}.\n",
          file=out)


def groups(variants, prefix):
    """{middle: [variants]} of prefix-MIDDLE-ROUND."""
    got = collections.defaultdict(list)
    for variant in variants:
        if variant.startswith(prefix + "-") and "taken" in variants[variant]:
            got[int(variant.split("-")[-2])].append(variant)
    return got


def spread(values):
    if not values:
        return ""
    low, middle, high = (f"{round(of(values))}".replace("-", "−")
                         for of in (min, statistics.median, max))
    return f"{middle} %" if len(values) == 1 else f"{middle} % ({low} to {high})"


def ladder(results, prefix, title, out):
    """What a length of bursts gives to BOLT."""
    programs = [p for p in results if groups(results[p], prefix)]
    if not programs:
        return
    columns = ["bursts", "density", "BOLT"]
    print(f"| {title} |" + "".join(f" {NAMES[p]}: {' | '.join(columns)} |" for p in programs), file=out)
    print("|---:|" + "---:|" * len(columns) * len(programs), file=out)
    by_program = [groups(results[p], prefix) for p in programs]
    for at in sorted(set.intersection(*(set(g) for g in by_program))):
        cells = []
        for p in programs:
            of, all_of = groups(results[p], prefix)[at], results[p]
            cells += [f"{statistics.median(all_of[v]['bursts'] for v in of):.0f}",
                      f"{statistics.median(all_of[v]['density'] for v in of):.1f}",
                      spread([share(all_of, v) for v in of])]
        print(f"| {at} | " + " | ".join(cells) + " |", file=out)
    print(file=out)


KEYS = {"taken": "taken branches", "instructions": "instructions"}
READERS = [  # of profiles: its name, and the variants before, from bursts, and from the exact profile
    ("BOLT", "base", "samples", "bolt-exact"),
    ("clang-22", "base", "clang-samples", "clang-exact"),
    ("gcc-11", "gcc", "gcc-samples", "gcc-exact"),
]


def bursts_wanted(results, key, out):
    """What so many bursts give to each reader: the change of KEY for each program."""
    programs = [p for p in results if groups(results[p], "samples")]
    if not programs:
        return
    print(f"| {KEYS[key]} | bursts |" + "".join(f" {NAMES[p]} |" for p in programs), file=out)
    print("|---|---:|" + "---:|" * len(programs), file=out)
    for reader, before, prefix, best in READERS:
        rungs = sorted(set().union(*(groups(results[p], prefix) for p in programs)))
        for rung in rungs + ["exact"]:
            cells = []
            for p in programs:
                of = [best] if rung == "exact" else groups(results[p], prefix).get(rung, [])
                cells.append(changes(results[p], before, [v for v in of if v in results[p]], key))
            print(f"| {reader} | {rung} | " + " | ".join(cells) + " |", file=out)
    print(file=out)


def changes(variants, before, of, key):
    """The changes of some variants, the middle one with the least and the most."""
    if not of or before not in variants:
        return ""
    low, middle, high = (change(f([variants[v][key] for v in of]), variants[before][key]).replace(" %", "")
                         for f in (min, statistics.median, max))
    return middle if len(of) == 1 else f"{middle} ({low} to {high})"


def options(results, out):
    programs = [p for p in results if any(v.startswith("options-") for v in results[p])]
    if not programs:
        return
    print("| llvm-bolt |" + "".join(f" {NAMES[p]}: recorded | exact |" for p in programs), file=out)
    print("|---|" + "---:|---:|" * len(programs), file=out)
    rows = [(o, words, ("step", "exact")) for o, words in OPTIONS]
    rows.append(("old", "ext-tsp, cdsort, splitting; from lines B, F and f alone", ("step",)))
    for option, words, kinds in rows:
        cells = [change(results[p][f"options-{option}-{kind}"]["taken"], results[p]["base"]["taken"])
                 if kind in kinds else "" for p in programs for kind in ("step", "exact")]
        print(f"| {words} | " + " | ".join(cells) + " |", file=out)
    print(file=out)


def hosts(results, out):
    """What each host gains: by its own profile, by the best host's, and by that of all."""
    for program, variants in results.items():
        if "best" not in variants.get("fleet", {}):
            continue
        base, fleet = variants["base"], variants["fleet"]
        best = f"own-{fleet['best']:.0f}"
        at = sorted((key for key in base if key.startswith("host")), key=lambda key: int(key[4:]))
        print(f"| {NAMES[program]}: taken branches at the work of | its own profile | that of host "
              f"{best[4:]}, the best | that of all {fleet['hosts']:.0f} |\n|---|---:|---:|---:|", file=out)
        rows = [[f"host {key[4:]}"] + [change(variants[v][key], base[key]) for v in ("own-" + key[4:], best, "fleet")]
                for key in at]
        means = [statistics.mean(100 * (variants[of(key)][key] / base[key] - 1) for key in at)
                 for of in (lambda key: "own-" + key[4:], lambda key: best, lambda key: "fleet")]
        rows.append(["mean"] + [f"{mean:+.1f} %".replace("-", "−") for mean in means])
        for row in rows:
            print("| " + " | ".join(row) + " |", file=out)
        print(file=out)


def bars(results, out):
    """Taken branches of each row, of the program as it was."""
    left, width, step = 290, 420, 22
    lines, y = [], 14
    for program, variants in results.items():
        y += 24
        lines.append(f'<text x="12" y="{y}" font-weight="bold">{NAMES[program]}: taken branches run</text>')
        y += 12
        for variant, how, colour in ROWS:
            if "taken" not in variants.get(variant, {}):
                continue
            part = variants[variant]["taken"] / variants["base"]["taken"]
            lines.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{how}</text>'
                         f'<rect x="{left}" y="{y}" width="{width * part:.1f}" height="17" fill="{colour}"/>'
                         f'<text x="{left + width * part + 6:.1f}" y="{y + 13}">{100 * part:.1f} %</text>')
            y += step
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{y + 16}" '
          f'font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="#fff"/>',
          *lines, "</svg>", sep="\n", file=out)


def main(results_path, tables_path, picture_path):
    results = read(results_path)
    with open(tables_path, "w") as out:
        for program, variants in results.items():
            if "step" in variants:
                table(NAMES[program], variants, out)
        for key in "taken", "instructions":
            bursts_wanted(results, key, out)
        ladder(results, "bursts", "branches a burst", out)
        options(results, out)
        hosts(results, out)
    with open(picture_path, "w") as out:
        bars(results, out)


main(*sys.argv[1:])
