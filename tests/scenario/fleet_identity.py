#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts whose identity changes, one hub, and the sums that it must hold: see fleet_identity.sh."""
import collections
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

BUILD, ROUNDS = sys.argv[1], int(sys.argv[2])
HUB = BUILD + "/bin/pathprof-hub"
SLOT = 300
DAY = 86400
STEPS = 8
COUNTS = ("window_ends", "window_drops", "window_processes", "path_counts", "edge_counts", "clock_counts")
failed = False


def ok(what):
    print("ok fleet_identity: " + what, flush=True)


def not_ok(what, why):
    global failed
    failed = True
    print("not ok fleet_identity: %s: %s" % (what, why), flush=True)


def columns(db, table):
    db.text_factory = str
    return [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]


SUMS = """
    SELECT 'path', hex(b.build_id), t.start, t.length, t.outcomes, p.comm, c.samples FROM path_counts c
        JOIN paths t ON t.id = c.path JOIN binaries b ON b.id = t.binary JOIN processes p ON p.id = c.process {0};
    SELECT 'edge', hex(f.build_id), e.from_offset, hex(b.build_id), e.to_offset, p.comm, c.count FROM edge_counts c
        JOIN edges e ON e.id = c.edge JOIN binaries f ON f.id = e.from_binary
        JOIN binaries b ON b.id = e.to_binary JOIN processes p ON p.id = c.process {0};
    SELECT 'clock', c.place, p.comm, c.samples FROM clock_counts c JOIN processes p ON p.id = c.process {0};
    SELECT 'drop', reason, count FROM window_drops c {0};
    SELECT 'bursts', c.bursts FROM (SELECT id AS window, bursts FROM windows) c {0}"""


def sums(db, where=""):
    """Of each path, edge, place, drop and total: how much it counts."""
    counted = collections.Counter()
    db.text_factory = bytes  # names are anything
    for query in SUMS.format(where).split(";"):
        for row in db.execute(query):
            counted[row[:-1]] += row[-1]
    return counted


class Host:
    """One machine: a database, the name in its certificate, and its clock."""

    def __init__(self, fleet, name, file):
        self.fleet, self.name, self.file, self.off = fleet, name, file, 0

    def new_store(self):
        """As it is when the machine was set up anew: nothing was recorded yet."""
        shutil.copy("known.db", self.file)
        db = sqlite3.connect(self.file)
        db.execute("UPDATE meta SET value = '%032x' WHERE name = 'identity'" % self.fleet.random.getrandbits(128))
        # the three known windows are patterns, which lie where no slot is sent
        db.execute("UPDATE windows SET begin_ns = -2 - id, end_ns = -2 - id")
        db.commit()
        db.close()

    def record(self, slot, cnt=1):
        """cnt windows that end in that slot of the host's clock."""
        db = sqlite3.connect(self.file)
        for _ in range(cnt):
            self.record_one(db, slot + self.off)
        db.commit()
        db.close()

    def record_one(self, db, slot):
        chance = self.fleet.random
        pattern = chance.randint(1, 3)
        window = db.execute("SELECT seq + 1 FROM sqlite_sequence WHERE name = 'windows'").fetchone()[0]
        end = slot * 10**9 + chance.randrange(SLOT * 10**9)
        own = {"id": window, "window": window, "begin_ns": end - chance.randrange(1, 10**9), "end_ns": end}
        for table in ("windows",) + COUNTS:
            names = columns(db, table)
            where = "id" if table == "windows" else "window"
            db.execute("INSERT INTO %s SELECT %s FROM %s WHERE %s = %d" % (
                table, ", ".join(str(own.get(n, n)) for n in names), table, where, pattern))
        for table, column in (("path_counts", "samples"), ("edge_counts", "count"), ("clock_counts", "samples")):
            db.execute("UPDATE %s SET %s = %s * %d WHERE window = %d" % (
                table, column, column, chance.randint(1, 9), window))
        db.execute("UPDATE path_counts SET squares = samples * 1000 WHERE squares IS NOT NULL AND window = %d" % window)
        self.fleet.truth += sums(db, "WHERE c.window = %d" % window)
        self.fleet.windows += 1

    def send(self):
        """Until the hub has all of it: it may be killed meanwhile. What was said."""
        environment = dict(os.environ)
        if self.off:
            environment.update(LD_PRELOAD=os.path.abspath("clock_off.so"), CLOCK_OFF=str(self.off))
        for _ in range(100):
            done = subprocess.run(
                [HUB, "send", "--once", "--db", self.file, "--hub", "https://127.0.0.1:%d" % self.fleet.port,
                 "--cert", "ca/%s.pem" % self.name, "--key", "ca/%s-key.pem" % self.name, "--ca", "ca/ca.pem"],
                env=environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout
            if "status 4" in done.stderr or "apart" in done.stderr:
                return done.stderr
            self.fleet.wait()
        return done.stderr

    def clone(self, name):
        twin = Host(self.fleet, name, "%s/%s-%d.db" % (self.fleet.dir, name, self.fleet.random.getrandbits(32)))
        shutil.copy(self.file, twin.file)
        return twin


# ---------------------------------------------------------------- what happens to hosts
# Each story is a host (or two) over the steps; a step is a slot. What was recorded before a database goes is sent.

def plain(host, step, slot):
    host.record(slot, 2)


def set_up_anew(host, step, slot):
    host.record(slot)
    if step == 4:
        host.send()
        host.new_store()
        host.record(slot, 2)


def put_back_by_a_day(host, step, slot):
    host.record(slot, 2)
    if step == 1:
        host.snapshot = host.clone(host.name).file
    if step == 5:
        host.send()
        shutil.copy(host.snapshot, host.file)
        host.record(slot, 1)


def put_back_at_once(host, step, slot):
    host.record(slot)
    if step in (3, 6):
        snapshot = host.clone(host.name).file
        host.record(slot)
        host.send()
        shutil.copy(snapshot, host.file)
        host.record(slot, 3 if step == 3 else 1)


def renamed(host, step, slot):
    host.record(slot)
    if step in (2, 5):
        host.send()
        host.name = "renamed%d" % step
        host.record(slot)


def cloned_under_one_name(host, step, slot):
    cloned(host, step, slot, "cloned")


def cloned_under_two(host, step, slot):
    cloned(host, step, slot, "twin")


def cloned(host, step, slot, name):
    host.record(slot)
    if step == 3:
        host.twin = host.clone(name)
        host.fleet.hosts.append(host.twin)
        host.twin.record(slot, 2)
        host.record(slot, 2)
    elif step > 3:
        host.twin.record(slot, 1 + step % 2)


def a_day_ahead(host, step, slot):
    off(host, step, slot, DAY)


def a_day_behind(host, step, slot):
    off(host, step, slot, -DAY)


def off(host, step, slot, by):
    host.off = by if 2 <= step < 5 else 0
    host.record(slot, 2)
    if host.off:
        said = host.send()
        if "apart" not in said:
            host.fleet.unsaid.append(said.strip())


STORIES = {
    "plain": plain, "anew": set_up_anew, "back": put_back_by_a_day, "atonce": put_back_at_once, "old": renamed,
    "cloned": cloned_under_one_name, "one": cloned_under_two, "ahead": a_day_ahead, "behind": a_day_behind,
}
NAMES = list(STORIES) + ["renamed2", "renamed5", "twin"]
# Whose databases have all that they recorded: a hub that lost something gets it again.
KEPT = ("plain", "old", "cloned", "one", "ahead", "behind")


# ---------------------------------------------------------------- all of them

class Fleet:
    def __init__(self, seed, stories):
        self.random = random.Random(seed)
        self.dir = "fleet%s" % seed
        os.mkdir(self.dir)
        self.truth, self.windows, self.unsaid, self.kills = collections.Counter(), 0, [], []
        self.port, self.server = 0, None
        self.hosts = []
        # the newest slot is over, and two days on either side of the oldest ones have passed
        self.base = int(time.time()) // SLOT * SLOT - 2 * DAY
        for name in stories:
            host = Host(self, name, "%s/%s.db" % (self.dir, name))
            host.new_store()
            host.story = STORIES[name]
            self.hosts.append(host)

    def start(self):
        log = open(self.dir + "/hub.log", "w", encoding="utf-8")
        self.server = subprocess.Popen(
            [HUB, "serve", "--db", self.dir + "/hub.db", "--listen", "127.0.0.1:%d" % self.port, "--cert", "ca/hub.pem",
             "--key", "ca/hub-key.pem", "--ca", "ca/ca.pem"], stderr=log)
        said = ""
        for _ in range(9000):
            said = open(self.dir + "/hub.log", encoding="utf-8").read()
            if "listening" in said or self.server.poll() is not None:
                break
            time.sleep(0.02)
        self.port = int(said.split(", port ")[1].split(";")[0])

    def stop(self, how=signal.SIGTERM):
        self.server.send_signal(how)
        self.server.wait()

    def wait(self):
        """The hub was killed; it comes again."""
        if self.server.poll() is not None:
            self.start()

    def kill_soon(self):
        self.kills.append(subprocess.Popen(
            ["sh", "-c", "sleep 0.%02d; kill -9 %d" % (self.random.randint(0, 9), self.server.pid)],
            stderr=subprocess.DEVNULL))

    def play(self, kill, copy_at=None, back_at=None):
        self.start()
        for step in range(STEPS):
            if step == copy_at:
                self.stop()
                shutil.copy(self.dir + "/hub.db", self.dir + "/copy.db")
                self.start()
            if step == back_at:
                self.stop()
                for name in ("hub.db-wal", "hub.db-shm"):
                    if os.path.exists(self.dir + "/" + name):
                        os.remove(self.dir + "/" + name)
                shutil.copy(self.dir + "/copy.db", self.dir + "/hub.db")
                self.start()
            self.step(step, kill)
        for host in self.hosts * 2:
            host.send()

    def step(self, step, kill):
        order = [host for host in self.hosts if hasattr(host, "story")]
        self.random.shuffle(order)
        for host in order:
            host.story(host, step, self.base + step * SLOT)
        for host in self.random.sample(self.hosts, len(self.hosts) // 2):
            if kill and self.random.random() < kill:
                self.kill_soon()
            host.send()
            self.wait()

    def check(self, what):
        for kill in self.kills:  # a busy machine begins it late
            kill.wait()
        self.wait()
        again = [host.send() for host in self.hosts]
        db = sqlite3.connect(self.dir + "/hub.db")
        have = sums(db)
        db.text_factory = str
        windows = db.execute("SELECT sum(windows) FROM parcels").fetchone()[0]
        hosts = sorted(row[0] for row in db.execute("SELECT DISTINCT host FROM parcels"))
        db.close()
        differ = [key for key in set(have) | set(self.truth) if have[key] != self.truth[key]]
        if differ or windows != self.windows or not self.windows:
            key = differ[0] if differ else None
            not_ok(what, "%s windows of %d; %d sums differ: %s is %d, not %d" % (
                windows, self.windows, len(differ), key, have[key], self.truth[key]))
        elif any(not said.startswith("0 parcels sent") for said in again):
            not_ok(what, "what is there is sent again: %s" % again)
        elif self.unsaid:
            not_ok(what, "a clock that is off is not said: %s" % self.unsaid[0])
        else:
            ok("%s: %d windows of %d hosts, %d samples, %d kills of the hub" % (
                what, windows, len(hosts), sum(n for key, n in have.items() if key[0] == b"path"), len(self.kills)))
        checked = subprocess.run([BUILD + "/bin/pathprofctl", "--db", self.dir + "/hub.db", "db", "check"],
                                 capture_output=True, text=True, check=False)
        if checked.returncode:
            not_ok(what, checked.stderr.strip())
        return hosts


def fetch(fleet):
    """What a reader gets of the fleet has the same sums, and the hosts by their names."""
    done = subprocess.run(
        [HUB, "fetch", "--db", fleet.dir + "/fetched.db", "--hub", "https://127.0.0.1:%d" % fleet.port, "--cert",
         "ca/reader.pem", "--key", "ca/reader-key.pem", "--ca", "ca/ca.pem", "--since", "0"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        return not_ok("fetch", done.stderr.strip())
    db = sqlite3.connect(fleet.dir + "/fetched.db")
    have = sums(db)
    db.text_factory = str
    hosts = sorted(row[0] for row in db.execute("SELECT DISTINCT host FROM parcels"))
    for key in set(have) | set(fleet.truth):
        if key[0] != b"drop" and have[key] != fleet.truth[key]:
            return not_ok("fetch", "%s is %d, not %d" % (key, have[key], fleet.truth[key]))
    return ok("a reader gets the same sums, of %s" % ", ".join(hosts))


def before_windows_were_known(fleet):
    """A hub's database of an earlier version: nothing is sent again, and a slot that grew replaces it."""
    fleet.stop()
    db = sqlite3.connect(fleet.dir + "/hub.db")
    db.execute("UPDATE parcel_windows SET recorded = NULL")
    db.commit()
    db.close()
    fleet.start()
    host = next(host for host in fleet.hosts if host.name == "plain")
    said = host.send()
    host.record(fleet.base + (STEPS - 1) * SLOT)
    grown = host.send()
    if said.startswith("0 parcels sent") and grown.startswith("1 parcel sent"):
        ok("what came before windows were known is not sent again, and a fuller slot takes its place")
    else:
        not_ok("before windows were known", said + grown)


def main():
    subprocess.run([HUB, "ca", "ca"], check=True)
    subprocess.run([HUB, "enrol", "ca", "hub", "--server", "--address", "127.0.0.1"], check=True)
    subprocess.run([HUB, "enrol", "ca", "reader", "--reader"], check=True)
    for name in NAMES:
        subprocess.run([HUB, "enrol", "ca", name], check=True)
    for seed in range(1, ROUNDS + 1):
        for name in STORIES:
            if ROUNDS > 1:
                alone = Fleet("%d-%s" % (seed, name), [name])
                alone.play(kill=0)
                alone.check(name)
                alone.stop()
        fleet = Fleet("%d" % seed, list(STORIES))
        fleet.play(kill=0.5)
        hosts = fleet.check("all of them at once")
        if hosts != sorted(NAMES):
            not_ok("names", "%s" % hosts)
        fetch(fleet)
        before_windows_were_known(fleet)
        fleet.check("and the sums are still right")
        fleet.stop()
        filled = Fleet("%d-filled" % seed, KEPT)
        filled.play(kill=0.5, copy_at=3, back_at=6)
        filled.check("an old copy of the hub's database was put back")
        filled.stop()
    return 1 if failed else 0


sys.exit(main())
