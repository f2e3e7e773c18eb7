#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A hub and parcels that no honest host sends: changed and cut frames, frames of changed messages, and ones that
# unpack to more than there may be. Each gets an answer, those that are refused are counted, the hub keeps to
# its memory, and a parcel that comes after them counts as if they had never been.
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/../rounds.bash"
name=fleet_damaged
. "$(dirname "$0")/fleet_common.bash" sqlite3 python3
count=$(rounds 2000 1000000)

"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca hostile && "$hub" enrol ca honest ||
	{ not_ok ca "none is made"; exit 1; }
version=--old-readers # the first host's parcels are of version 1
for i in 1 2; do
	record_bursts 40 "host$i.db" gzip -9 -k -c "$ctl"
	"$ctl" --db "host$i.db" parcel write ${version:+"$version"} -o "parcels$i" >/dev/null 2>said || { not_ok record "$(tail -n 1 said)"; exit 1; }
	version=
done
"$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >hub.log 2>&1 &
server=$!
until grep -q listening hub.log; do
	kill -0 $server 2>/dev/null || { not_ok start "$(tail -n 1 hub.log)"; exit 1; }
	sleep 0.02
done
port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' hub.log)

cat >send.py <<'END'
import collections, ctypes, ctypes.util, http.client, random, re, ssl, sys, time

zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
for function in "ZSTD_createCCtx", "ZSTD_compress2", "ZSTD_compressBound", "ZSTD_decompress":
    getattr(zstd, function).restype = ctypes.c_size_t
zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
CHECKSUM = 201
context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
zstd.ZSTD_CCtx_setParameter(context, CHECKSUM, 1)


def pack(message):
    size = zstd.ZSTD_compressBound(ctypes.c_size_t(len(message)))
    frame = ctypes.create_string_buffer(size)
    size = zstd.ZSTD_compress2(context, frame, ctypes.c_size_t(size), message, ctypes.c_size_t(len(message)))
    return frame.raw[:size]


def unpack(frame):
    message = ctypes.create_string_buffer(1 << 22)
    size = zstd.ZSTD_decompress(message, ctypes.c_size_t(1 << 22), frame, ctypes.c_size_t(len(frame)))
    return message.raw[:size]


def changed(text):
    text = bytearray(text)
    for _ in range(random.choice((1, 1, 2, 8))):
        text[random.randrange(len(text))] = random.choice((0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))
    return bytes(text)


def moved(text):
    """A piece is left out, or there twice."""
    begin = random.randrange(len(text))
    end = begin + random.randrange(1, 64)
    return text[:begin] + text[end:] if random.random() < 0.5 else text[:end] + text[begin:]


def of_store(message, store):
    """From a database that nobody knows: a host may have sixteen."""
    assert re.match(rb"\x08[\x01\x02]\x12\x10", message), "no version and store of 16 bytes in front"
    return pack(message[:4] + store + message[20:])


port, count, *files = sys.argv[1:]
frames = [open(name, "rb").read() for name in files]
messages = [unpack(frame) for frame in frames]
bomb = pack(bytes(100 << 20))
random.seed(1)
tls = ssl.create_default_context(cafile="ca/ca.pem")
tls.load_cert_chain("ca/hostile.pem", "ca/hostile-key.pem")
connection, answers, reasons, began = None, collections.Counter(), collections.Counter(), time.time()
for i in range(int(count)):
    kind = i % 8
    at = random.randrange(len(frames))
    body = (bomb if i % 1000 == 999 else changed(frames[at]) if kind == 0 else
            frames[at][:random.randrange(len(frames[at]))] if kind == 1 else
            of_store(messages[at], random.randbytes(16)) if i % 100 == 50 else
            pack(moved(messages[at])) if kind in (2, 3) else pack(changed(messages[at])))
    for attempt in range(3):  # a connection lives for minutes
        try:
            connection = connection or http.client.HTTPSConnection("127.0.0.1", int(port), context=tls, timeout=120)
            connection.request("POST", "/v1/parcels", body)
            answer = connection.getresponse()
            text = answer.read()
            answers[answer.status] += 1
            reasons[re.sub(rb"[0-9]+", b"N", text)] += 1
            break
        except (http.client.HTTPException, OSError):
            connection.close()
            connection = None
    else:
        answers["none"] += 1
    if i % 50000 == 49999:
        print(f"# {i + 1} of {count} in {time.time() - began:.0f} s", flush=True)
for text, cnt in reasons.most_common(40):
    print("#", cnt, text.decode())
open("answers", "w").write("".join(f"{status} {cnt}\n" for status, cnt in sorted(answers.items(), key=str)))
END
python3 send.py "$port" "$count" parcels1/*.parcel 2>said || not_ok "sending" "$(tail -n 1 said)"
refused='400|403|409|413'
answers() { awk -v status="^($1)\$" '$1 ~ status { n += $2 } END { print n + 0 }' answers; }
told=$(paste -sd ',' answers)
[ "$(answers "200|$refused")" -eq "$count" ] && ok "each of $count has an answer ($told)" || not_ok "answers" "$told"
[ "$(answers "$refused")" -gt $((count / 2)) ] && [ "$(answers 403)" -gt 0 ] && ok "most are refused, and a host's seventeenth database" || not_ok "refused" "$told"
sends() { "$hub" send --once --db "$1" --hub "https://127.0.0.1:$port" --cert "ca/$2.pem" --key "ca/$2-key.pem" --ca ca/ca.pem; }
sends host2.db honest >sent 2>said && grep -q ' 0 refused' sent && ok "the honest host: $(cat sent)" || not_ok "the honest host" "$(tail -n 1 said)"
# A hub that unpacked a bomb of 100 MiB before it looked at the size would have more.
peak=$(awk '/VmHWM/ { print $2 }' /proc/$server/status)
[ "$peak" -lt $((64 << 10)) ] && ok "memory: $((peak / 1024)) MiB at most" || not_ok memory "$peak kB"
kill -TERM $server
wait $server && ok "the hub ends" || not_ok "the hub" "status $?: $(tail -n 1 hub.log)"
grep -q " $(answers "$refused") refused" hub.log && ok "the refused ones are counted" || not_ok "counted" "$told; $(tail -n 1 hub.log)"
"$ctl" --db hub.db db check >said 2>&1 && ok "the database is sound" || not_ok "the database" "$(tail -n 1 said)"
samples() { sqlite3 "$1" "SELECT sum(samples) FROM path_counts"; }
own=$(sqlite3 hub.db "SELECT sum(c.samples) FROM parcels p JOIN parcel_windows w ON w.parcel = p.id JOIN path_counts c ON c.window = w.window
	WHERE lower(hex(p.store)) = '$(sqlite3 host2.db "SELECT value FROM meta WHERE name = 'identity'")'")
[ "$own" = "$(samples host2.db)" ] && ok "the honest host's samples are there: $own" || not_ok "samples" "$own, not $(samples host2.db)"
exit $failed
