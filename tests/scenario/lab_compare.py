# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares and combines text profiles by the formulas of CCP in decimal arithmetic of 60 digits.

An implementation of its own, for tests/scenario/lab_compare.sh to hold pathprof-lab against. Usage:

    lab_compare.py draw SEED EVENTS KIND FILE         writes a profile
    lab_compare.py compare ACTUAL ASSUMED OUTPUT [branches] [epsilon=E]
    lab_compare.py combine METHOD OUTPUT LAMBDAS FILE...

compare and combine read what pathprof-lab printed (OUTPUT), and print the greatest relative difference,
or a line that says what is missing. Nothing but Python's standard library.
"""
import random
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
LN2 = Decimal(2).ln()
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def read(name):
    weights = {}
    for line in open(name, encoding="utf-8"):
        key, weight = line.rstrip("\r\n").rsplit("\t", 1)
        weights[key] = weights.get(key, Decimal(0)) + Decimal(weight)
    return {key: weight for key, weight in weights.items() if weight}


def shares(weights):
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def log2(x):
    return x.ln() / LN2


def entropy(p):
    return -sum(x * log2(x) for x in p.values())


def smooth(q, total, missing, epsilon=None):
    if epsilon is None:
        epsilon = 1 / (2 * (total + 1))
        if missing:
            epsilon = min(epsilon, Decimal(1) / (4 * len(missing)))
    out = {key: x * (1 - len(missing) * epsilon) for key, x in q.items()}
    out.update({key: epsilon for key in missing})
    return out, epsilon


def arctan(x):
    """For x >= 0, by halving the angle until its series is short."""
    halvings = 0
    while x > Decimal("0.001"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    term, total, n = x, Decimal(0), 1
    while abs(term) > Decimal(10) ** -58:
        total += term / n
        term *= -x * x
        n += 2
    return total * 2**halvings


def angle(p, q):
    keys = set(p) | set(q)
    u = {k: p.get(k, Decimal(0)) for k in keys}
    v = {k: q.get(k, Decimal(0)) for k in keys}
    dot = sum(u[k] * v[k] for k in keys)
    cross = sum(u[k] ** 2 for k in keys) * sum(v[k] ** 2 for k in keys) - dot * dot
    cross = max(cross, Decimal(0)).sqrt()
    return 90 if dot == 0 else arctan(cross / dot) * 180 / PI


def branches_of(p):
    out = {}
    for key, weight in p.items():
        address, taken = key.split("/")
        out.setdefault(int(address, 16), [Decimal(0), Decimal(0)])[int(taken)] += weight
    return out


def branch_figures(a, b):
    a, b = branches_of(a), branches_of(b)
    total = sum(sum(w) for w in a.values())
    taken = {k: w[1] > w[0] for k, w in b.items()}
    conflict = [k for k in a if k in b and (a[k][1] > a[k][0]) != taken[k]]
    covered = [k for k in a if k in b]
    return {
        "static_conflict": Decimal(len(conflict)) / len(a),
        "dynamic_conflict": sum((sum(a[k]) for k in conflict), Decimal(0)) / total,
        "static_branch_coverage": Decimal(len(covered)) / len(a),
        "dynamic_branch_coverage": sum((sum(a[k]) for k in covered), Decimal(0)) / total,
        "accuracy": sum(w[taken.get(k, False)] for k, w in a.items()) / total,
        "accuracy_own": sum(max(w) for w in a.values()) / total,
    }


def figures(a, b, branches, epsilon):
    p, q = shares(a), shares(b)
    missing = [key for key in p if key not in q]
    smoothed, epsilon = smooth(q, sum(b.values()), missing, epsilon)
    out = {
        "entropy_actual": entropy(p),
        "entropy_assumed": entropy(q),
        "kl": sum(x * log2(x / smoothed[key]) for key, x in p.items()),
        "epsilon": epsilon,
        "unseen": Decimal(len(missing)),
        "overlap": sum((min(x, q[key]) for key, x in p.items() if key in q), Decimal(0)),
        "angle_degrees": angle(p, q),
        "static_coverage": Decimal(len(p) - len(missing)) / len(p),
        "dynamic_coverage": sum((x for key, x in p.items() if key in q), Decimal(0)),
    }
    if branches:
        out.update(branch_figures(a, b))
    return out


def apart(ours, theirs):
    if theirs == 0:
        return abs(ours)
    return abs(ours / theirs - 1)


def compare(actual, assumed, output, *options):
    branches = "branches" in options
    epsilon = [Decimal(o.split("=")[1]) for o in options if o.startswith("epsilon=")]
    printed = dict(line.split() for line in open(output, encoding="utf-8"))
    worst = Decimal(0)
    a, b = read(actual), read(assumed)
    if branches:
        a, b = ({"%x/%s" % (int(k.split("/")[0], 16), k[-1]): w for k, w in p.items()} for p in (a, b))
    for name, value in figures(a, b, branches, epsilon[0] if epsilon else None).items():
        if name not in printed:
            print("no", name)
            return
        worst = max(worst, apart(Decimal(printed[name]), value))
    print("%.3e" % worst)


def geometric(profiles, lambdas):
    keys = set().union(*profiles)
    logs = []
    for weights in profiles:
        missing = [key for key in keys if key not in weights]
        smoothed, _ = smooth(shares(weights), sum(weights.values()), missing)
        logs.append({key: x.ln() for key, x in smoothed.items()})
    blend = {k: sum(l * log[k] for l, log in zip(lambdas, logs)).exp() for k in keys}
    z = sum(blend.values())
    r = {k: x / z for k, x in blend.items()}
    far = [sum(r[k] * (r[k].ln() - log[k]) for k in keys) / LN2 for log in logs]
    return r, far


def vote(profiles, key):
    if not all(k.endswith(("/0", "/1")) for p in profiles for k in p):
        return Decimal(sum(key in p for p in profiles))
    other = key[:-1] + "10"[int(key[-1])]
    votes = Decimal(0)
    for p in profiles:
        mine, theirs = p.get(key, Decimal(0)), p.get(other, Decimal(0))
        votes += Decimal(1) if mine > theirs else Decimal("0.5") if mine == theirs > 0 else 0
    return votes


def combine(method, output, lambdas, *files):
    profiles = [read(f) for f in files]
    keys = set().union(*profiles)
    if method == "unscaled":
        want = {k: sum(p.get(k, Decimal(0)) for p in profiles) for k in keys}
    elif method == "scaled":
        scaled = [shares(p) for p in profiles]
        want = {k: sum(p.get(k, Decimal(0)) for p in scaled) for k in keys}
    elif method == "polling":
        want = {k: vote(profiles, k) for k in keys}
    else:
        numbers = [line.split()[2:] for line in open(lambdas) if line.startswith("# lambda")][0]
        want, far = geometric(profiles, [Decimal(n) for n in numbers])
        held = [d for d, n in zip(far, numbers) if Decimal(n) > Decimal("1e-6")]
        if max(far) - min(held) > Decimal("1e-8"):
            print("those with a say are not equally far, or another is farther:", far)
            return
    got = read(output)
    if set(got) != {k for k, w in want.items() if w}:
        print("other keys")
        return
    print("%.3e" % max(apart(got[k], want[k]) for k in got))


def draw(seed, events, kind, file):
    rng = random.Random(int(seed))
    with open(file, "w", encoding="utf-8") as out:
        for i in range(int(events)):
            weight = int(rng.paretovariate(0.6))
            if kind == "huge":
                weight = rng.randrange(2**62, 2**63)
            if kind == "branches":
                for taken in (0, 1):
                    out.write("%s%x/%d\t%d\n" % (rng.choice(("", "0x")), 0x401000 + 3 * i, taken,
                                                 rng.choice((0, weight, weight // 3))))
            elif rng.random() < 0.7:
                out.write("path %d\t%d\n" % (i, weight))


if __name__ == "__main__":
    {"draw": draw, "compare": compare, "combine": combine}[sys.argv[1]](*sys.argv[2:])
