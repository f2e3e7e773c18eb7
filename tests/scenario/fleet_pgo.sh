#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A compiler's profile of a build over all hosts, from the hub: the bytes are those of pathprofctl export, by
# path and by build-id, once for who has them already; who may not, what is not there and what is too little gets a reason.
. "$(dirname "$0")/../own_processes.bash"
name=fleet_pgo
. "$(dirname "$0")/fleet_common.bash" sqlite3 gcc curl python3

# ---------------------------------------------------------------- a program on two hosts, otherwise on each
cat >work.c <<'END'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void turn_wheels(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i & 1 ? 3 : i; }
__attribute__((noinline)) void pull_levers(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum ^= i & 2 ? i : 5; }
int main(int argc, char **argv) { (void)argc; for (int i = 0; i < 4000; i++) { turn_wheels(atol(argv[1])); pull_levers(20000); } }
END
mkdir bin certs other temporary
gcc -O1 -g -Wl,--build-id -o bin/worker work.c || exit 1
id=$(readelf -n bin/worker | sed -n 's/.*Build ID: //p')
record() { # HOST ROUNDS
	record_bursts 50 $1.db "$dir/bin/worker" $2
	# More than the hub asks of a profile, however little a burst sees.
	sqlite3 $1.db "UPDATE path_counts SET samples = samples * 30, squares = squares * 900, weight = weight * 30, weight_squares = weight_squares * 900"
}
record one 60000
record two 10000
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca one && "$hub" enrol ca two && "$hub" enrol ca reader --reader &&
	cp ca/reader.pem ca/reader-key.pem ca/ca.pem certs && cp ca/ca.pem ca/ca-key.pem other && "$hub" enrol other reader --tenant other --reader || exit 1
as_unit pathprof-hub
start() { # [OPTION...]
	: >hub.log
	own
	TMPDIR=$dir/temporary "${as[@]}" "$hub" serve --db hub.db --tenants "$dir" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem "$@" >hub.log 2>&1 &
	server=$!
	await_hub
}
stop() { kill -TERM $server; wait $server 2>/dev/null; }
start
send() { # HOST NAME LABELS
	"$hub" send --once --db $1.db --hub "$url" --cert ca/$2.pem --key ca/$2-key.pem --ca ca/ca.pem --labels "$3" >sent 2>said || not_ok "$1 sends" "$(tail -n 1 said)"
}
send one one "dc=ams group=web"
send two two "dc=ams group=db"
since=$(($(date +%s) - 3600)) until=$(($(date +%s) + 60))
reader=(--cert ca/reader.pem --key ca/reader-key.pem --cacert ca/ca.pem)
pgo() { # WHAT [CURL-ARGUMENT...]: status and headers in `head`, the profile in `got`
	rm -f got
	status=$(curl -s -o got -D head -w '%{http_code}' --max-time 100 "${reader[@]}" "$url/v1/pgo/$1" "${@:2}" 2>said)
}
span="since=$since&until=$until"

# ---------------------------------------------------------------- the same bytes
for format in bolt-fdata bolt-preagg profgen-raw llvm-sample autofdo-text; do
	"$ctl" --hub "$url" --certificates certs export --binary "$id" --format $format --since @$since --until @$until -o want 2>said || not_ok "export $format" "$(tail -n 1 said)"
	pgo "$id?format=$format&$span"
	[ "$status" = 200 ] && [ -s want ] && cmp -s want got && ok "$format: $(wc -c <got) bytes, those of export" || not_ok $format "$status: $(head -c 300 got)"
	rm -f want
done
is_confined $server && ok "as its unit lets the hub: no capability, and calls that are filtered" || not_ok "the unit" "$(grep -E 'Cap|Seccomp' /proc/$server/status | paste -sd ' ')"
grep -qi "^pathprof-build-id: $id" head && ok "it says of which build" || not_ok "the build-id" "$(cat head)"
pgo "${dir#/}/bin/worker?format=bolt-fdata&$span" && cp got by_path
pgo "$id?format=bolt-fdata&$span"
[ "$status" = 200 ] && cmp -s got by_path && grep -q turn_wheels got && grep -q pull_levers got && ok "by its path: the same" || not_ok "by path" "$status $(head -c 300 by_path)"
etag=$(sed -n 's/^[Ee][Tt]ag: \(".*"\).*/\1/p' head)
pgo "$id?format=bolt-fdata&$span" -H "If-None-Match: $etag"
[ "$status" = 304 ] && [ ! -s got ] && ok "who has it gets none: 304" || not_ok "If-None-Match" "$status, $etag"
pgo "$id?format=bolt-fdata&$span" -H 'If-None-Match: "another"'
[ "$status" = 200 ] && ok "who has another gets it" || not_ok "another ETag" "$status"

# ---------------------------------------------------------------- of some hosts, and of one of their services
of_some() { # QUESTION EXPORT-OPTION...
	"$ctl" --hub "$url" --certificates certs export --binary "$id" --format bolt-fdata --since @$since --until @$until -o want "${@:2}" 2>said || not_ok "export $*" "$(tail -n 1 said)"
	pgo "$id?format=bolt-fdata&$span&$1"
	[ "$status" = 200 ] && [ -s want ] && cmp -s want got && ok "$1: $(wc -c <got) bytes, those of export" || not_ok "$1" "$status: $(head -c 300 got)"
	rm -f want
}
of_some label=dc=ams --label dc=ams && cmp -s got by_path || not_ok "label=dc=ams" "both hosts have it"
of_some 'label=dc%3Dams&label=group=web' --label dc=ams --label group=web && cmp -s got by_path && not_ok "labels" "one host is not both"
cp got of_web
of_some labels=dc=ams%20group=web --label dc=ams --label group=web && cmp -s got of_web || not_ok "labels=" "another profile"
of_some group=web --group web && cmp -s got of_web || not_ok "group=" "another profile"
of_some host=one --host one && cmp -s got of_web || not_ok "host=" "another profile"
of_some group=db --group db && cmp -s got of_web && not_ok "group=db" "that of group=web"
of_some workload=worker --workload worker && cmp -s got by_path || not_ok "workload=" "another profile"

# ---------------------------------------------------------------- who may not, and what is not there
refused() { # STATUS WORDS WHAT [CURL-ARGUMENT...]
	pgo "$3" "${@:4}"
	[ "$status" = "$1" ] && grep -q "$2" got && ok "$1: $2" || not_ok "$3" "$status: $(head -c 300 got)"
}
refused 400 'format= is to name one' "$id?$span"
refused 400 'format= is to name one' "$id?format=csv&$span"
refused 400 'seconds since 1970' "$id?format=bolt-fdata&since=yesterday"
refused 404 'no host ran /usr/bin/nothing' "usr/bin/nothing?format=bolt-fdata&$span"
refused 404 'no host ran' "$id?format=bolt-fdata&since=1000&until=2000"
refused 404 'no host of those asked for ran' "$id?format=bolt-fdata&$span&label=dc=fra"
refused 404 'no host of those asked for ran' "$id?format=bolt-fdata&$span&label=dc=ams&group=mail"
refused 404 'no host of those asked for ran' "$id?format=bolt-fdata&$span&host=three"
refused 404 'no host of those asked for ran' "$id?format=bolt-fdata&$span&workload=nginx"
refused 404 'no host of those asked for ran' "${dir#/}/bin/worker?format=bolt-fdata&$span&release=0123456789ab"
# The answer says what kept it out, and what there is.
refused 404 'it ran, but on no host with dc=fra: there are hosts with dc=ams group=web, dc=ams group=db"' "$id?format=bolt-fdata&$span&label=dc=fra"
refused 404 'it ran, but not on host=three: there is one, two"' "$id?format=bolt-fdata&$span&host=three"
refused 404 'it ran, but not in workload=nginx: it did in worker' "$id?format=bolt-fdata&$span&workload=nginx"
refused 404 "it ran, but no build release=0123456789ab: there is ${id:0:12}" "${dir#/}/bin/worker?format=bolt-fdata&$span&release=0123456789ab"
refused 404 'it ran before or after: there is since=[1-9][0-9]* until=[1-9]' "$id?format=bolt-fdata&since=1000&until=2000"
refused 404 'more than one condition keeps it out' "$id?format=bolt-fdata&$span&host=three&label=dc=fra"
refused 404 'nor did any at another time' "usr/bin/nothing?format=bolt-fdata&$span"
refused 404 'no host ran /usr/bin/��� in that time' "usr/bin/%ff%fe%fd?format=bolt-fdata&$span"
refused 400 'label= is KEY=VALUE' "$id?format=bolt-fdata&$span&label=dc"
refused 400 'label= is KEY=VALUE' "$id?format=bolt-fdata&$span&label=dc=ams&label=dc=fra"
refused 400 'label= is KEY=VALUE' "$id?format=bolt-fdata&$span&label=dc=ams&group="
refused 400 'first digits of a build-id' "$id?format=bolt-fdata&$span&release=../x"
refused 404 'no host ran /../../etc/passwd' "%2e%2e/%2e%2e/etc/passwd?format=bolt-fdata&$span"
reader=(--cert ca/one.pem --key ca/one-key.pem --cacert ca/ca.pem)
refused 403 'a host.s certificate reads nothing' "$id?format=bolt-fdata&$span"
reader=(--cert other/reader.pem --key other/reader-key.pem --cacert ca/ca.pem)
refused 404 'no host ran' "$id?format=bolt-fdata&$span"
reader=(--cacert ca/ca.pem)
refused 403 'certificate' "$id?format=bolt-fdata&$span"
reader=(--cert ca/reader.pem --key ca/reader-key.pem --cacert ca/ca.pem)

# Many at once, each of another time: all are answered, some are told to come later; the hub answers others meanwhile.
# One of the processes that make profiles is stopped for that: again until one was caught at it.
most=10 from=$since still=
[ "${PATHPROF_ROUNDS:-short}" != full ] || most=40
are_asked() { # some are not answered yet
	local process
	for process in "${asked[@]}"; do kill -0 "$process" && return; done
	return 1
}
stop_one() { # Sets `still`. Fails once all are answered.
	local child words
	while are_asked; do
		for child in $(<"/proc/$server/task/$server/children"); do
			words=()
			mapfile -d '' -t words <"/proc/$child/cmdline"
			[ "${words[1]:-}" = pgo ] && kill -STOP "$child" || continue
			while grep -q '^State:[[:space:]]*[RSD]' "/proc/$child/status"; do sleep 0.01; done
			grep -q '^State:[[:space:]]*T' "/proc/$child/status" && still=$child && return
		done
	done 2>/dev/null
	return 1
}
for _ in $(seq 20); do
	asked=()
	for i in $(seq $most); do
		from=$((from - 1))
		curl -s -o /dev/null -w '%{http_code}\n' --max-time 300 "${reader[@]}" "$url/v1/pgo/$id?format=bolt-fdata&since=$from&until=$until" >status$i &
		asked+=($!)
	done
	stop_one && break
	wait "${asked[@]}"
done
others=$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 "${reader[@]}" "$url/v1/hosts")
# Nothing goes on meanwhile, and a certificate has eight places: of nine more at least one is refused, and told when to
# come again. Another tenant's reader is kept out by none of them.
for i in $(seq 9); do
	from=$((from - 1))
	curl -s -o beyond$i -D beyond_head$i -w '%{http_code}\n' --max-time 300 "${reader[@]}" "$url/v1/pgo/$id?format=bolt-fdata&since=$from&until=$until" >beyond_status$i &
	asked+=($!)
done
for _ in $(seq 600); do grep -q 429 beyond_status* && break; sleep 0.1; done
curl -s -o /dev/null -w '%{http_code}\n' --max-time 300 --cert other/reader.pem --key other/reader-key.pem --cacert ca/ca.pem "$url/v1/pgo/$id?format=bolt-fdata&$span" >other_status &
asked+=($!)
[ -z "$still" ] || kill -CONT "$still"
wait "${asked[@]}"
sort status* | uniq -c | paste -sd ';' >counts
[ "$(cat status* beyond_status* | grep -c 200)" -ge 8 ] && ! grep -Ev ' (200|429)(;|$)' <(tr ';' '\n' <counts) && ok "$most at once:$(cat counts)" || not_ok "$most at once" "$(cat counts)"
beyond=$(grep -l 429 beyond_status* | head -n 1)
grep -q 'this certificate asks for too much' "beyond${beyond#beyond_status}" && grep -qi '^retry-after: [0-9]' "beyond_head${beyond#beyond_status}" &&
	ok "a certificate has eight places, and who is beyond is told when to come again" || not_ok "places of a certificate" "$(cat beyond_status*)"
[ "$(cat other_status)" = 404 ] && ok "another tenant's reader has places of its own" || not_ok "another tenant's reader" "$(cat other_status)"
[ -n "$still" ] && [ "$others" = 200 ] && ok "others are answered meanwhile" || not_ok "others meanwhile" "${still:-no process was seen at work}: status $others"

# ---------------------------------------------------------------- without the file, and with a directory of files
stop
[ -z "$(ls -d temporary/* hub.db.pgo 2>/dev/null)" ] && ok "nothing of it stays" || not_ok "what stays" "$(ls -d temporary/* hub.db.pgo)"
# One that is killed leaves its directory, beside the database, and the next one takes that over.
start
first=$(ls -d hub.db.pgo/*)
kill -9 $server
wait $server 2>/dev/null
touch "$first/profile" hub.db.pgo/file
start
second=$(ls -d hub.db.pgo/*)
[ -d "$first" ] || [ "$(stat -c %a hub.db.pgo)" != 700 ] || [ "$(ls -d hub.db.pgo/* | wc -l)" != 1 ] || [ -n "$(ls "$second")" ] || [ -n "$(ls temporary)" ] &&
	not_ok "after a hub that was killed" "$(ls -lR hub.db.pgo temporary | paste -sd ';')" || ok "what one that was killed leaves goes with the next"
stop
[ -e hub.db.pgo ] && not_ok "after both" "$(ls hub.db.pgo)" || ok "and with its end"
# A file that somebody else put there is not used.
not_taken() { # WHAT WORDS
	timeout -k 5 60 "$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >said 2>&1
	[ $? = 1 ] && grep -q "hub.db.pgo: profiles are to be made there, but it is $2: remove it" said && ok "$1 is not used" || not_ok "$1" "$(tail -n 1 said)"
	[ "$(cat temporary/kept)" = kept ] || not_ok "$1" "what lies there was touched"
}
echo kept >temporary/kept
ln -s temporary hub.db.pgo
not_taken "a link" "a link or a file"
rm hub.db.pgo
if [ "$(id -u)" = 0 ]; then
	mv temporary hub.db.pgo && chown 64998 hub.db.pgo && ln -s hub.db.pgo temporary
	not_taken "another user's directory" "another user's"
	rm temporary && mv hub.db.pgo temporary
else
	echo "skip $name: another user's directory: not root"
fi
rm temporary/kept
mkdir -p files/${id:0:2} && mv bin/worker files/${id:0:2}/${id:2}
start
refused 404 "worker" "$id?format=bolt-fdata&$span"
stop
start --files "$dir/files"
pgo "$id?format=bolt-fdata&$span"
[ "$status" = 200 ] && cmp -s got by_path && ok "the file is found by its build-id" || not_ok "--files" "$status: $(head -c 300 got)"
# A newer build is what a path means, unless the question says which.
gcc -O2 -g -Wl,--build-id -o bin/worker work.c || exit 1
newer=$(readelf -n bin/worker | sed -n 's/.*Build ID: //p')
sleep 1
record three 20000
until=$(($(date +%s) + 60)) span="since=$since&until=$(($(date +%s) + 60))"
send three one ""
pgo "${dir#/}/bin/worker?format=bolt-fdata&$span"
[ "$status" = 200 ] && grep -qi "^pathprof-build-id: $newer" head && ok "of a path it is the newest build" || not_ok "the newest build" "$status: $(head -c 300 got)"
pgo "${dir#/}/bin/worker?format=bolt-fdata&$span&release=${id:0:12}"
[ "$status" = 200 ] && cmp -s got by_path && grep -qi "^pathprof-build-id: $id" head && ok "and by release= the one before" || not_ok "release=" "$status: $(head -c 300 got)"
# A debuginfod server has it: asked by its build-id, and only where one is named.
stop
mkdir -p www/buildid/$id && mv files/${id:0:2}/${id:2} www/buildid/$id/executable
python3 - www >server.log 2>&1 <<'END' &
import functools, http.server, sys
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
print(server.server_port, flush=True)
server.serve_forever()
END
serves=$!
for _ in $(seq 1200); do [ -s server.log ] && break; sleep 0.1; done
export DEBUGINFOD_CACHE_PATH=$dir/cache1
start
refused 404 "worker" "$id?format=bolt-fdata&$span"
grep -q GET server.log && not_ok "no server is named" "$(tail -n 1 server.log)"
stop
export DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 server.log)
start
pgo "$id?format=bolt-fdata&$span"
[ "$status" = 200 ] && cmp -s got by_path && grep -q "GET /buildid/$id/executable" server.log && ok "the file comes from debuginfod" || not_ok "debuginfod" "$status: $(head -c 300 got)"
stop
# One that has something else under that build-id is not believed.
export DEBUGINFOD_CACHE_PATH=$dir/cache2
mv www/buildid/$id/executable kept
cp /bin/true www/buildid/$id/executable
start
refused 404 "$id" "$id?format=bolt-fdata&since=$((since - 60))&until=$until"
mv kept www/buildid/$id/executable
kill $serves
unset DEBUGINFOD_URLS
# A hub that has no pathprofctl, or whose pathprofctl was killed, does not say that there is no profile.
mkdir alone alone/scratch && cp "$hub" alone/pathprof-hub
for why in 'alone/pathprofctl cannot be run' 'alone/pathprofctl was ended by signal 9'; do
	alone/pathprof-hub pgo --db hub.db --scratch alone/scratch --binary "$id" --format bolt-fdata --since $since --until $until >got 2>said
	code=$?
	[ $code = 1 ] && [ ! -s got ] && grep -q "$why" said && ok "$why: a failure" || not_ok "$why" "exit status $code: $(head -c 200 got) $(tail -n 1 said)"
	printf '#!/bin/sh\nkill -9 $$\n' >alone/pathprofctl && chmod +x alone/pathprofctl
done
sqlite3 hub.db "UPDATE path_counts SET samples = 1, squares = 1"
refused 404 'paths were seen, a profile wants 1000' "$id?format=bolt-fdata&since=$((since - 30))&until=$until"
stop
exit $failed
