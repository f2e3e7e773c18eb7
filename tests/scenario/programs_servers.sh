#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers as Debian ships them, each with the clients of its own package: many processes, much of
# their time in the kernel.
. "$(dirname "$0")/programs_common.bash"

# served NAME CLIENT SERVER...: the client is a function that starts and ends well only where the server answers.
served() {
	local name=$1 client=$2 watched
	shift 2
	watched "$name" "$@" &
	watched=$!
	if ! "$client" >client 2>&1; then
		not_ok "programs_$name" "its client: $(tail -n 1 client)"
		return
	fi
	if wait $watched; then held "$name"; else not_ok "programs_$name" "recording failed: $(tail -n 1 "$name.log")"; fi
}
answers() { local i; for ((i = 0; i < 300; i++)); do "$@" && return; sleep 0.2; done; return 1; }

# busy NAME CLIENT...: asks again and again, until the server's processes have used so much CPU time outside the kernel.
busy() {
	local name=$1 ticks i
	shift
	for ((i = 0; i < 100; i++)); do
		ticks=$(pgrep -x "$name" | while read -r pid; do awk '{ print $14 + $16 }' "/proc/$pid/stat" 2>/dev/null; done | awk '{ sum += $1 } END { print sum + 0 }')
		[ "$ticks" -lt $((seconds * $(getconf CLK_TCK))) ] || return 0
		timeout 5 "$@" >/dev/null
	done
	echo "after 100 turns of its client it has used $ticks ticks"
	return 1
}

postgres_client() {
	answers psql -h "$tmp/socket" -U postgres -c 'SELECT 1' &&
		pgbench -h "$tmp/socket" -U postgres -i -s 2 postgres &&
		busy postgres pgbench -h "$tmp/socket" -U postgres -S -c 2 -T 2 postgres &&
		kill -INT "$(head -n 1 "$tmp/pg/postmaster.pid")"
}
bin=$(command -v pg_ctl >/dev/null && dirname "$(readlink -f "$(command -v pg_ctl)")" || ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if PATH=$PATH:$bin have postgres initdb psql pgbench setpriv; then
	PATH=$PATH:$bin
	mkdir pg socket
	chown nobody pg socket
	as="setpriv --reuid nobody --regid nogroup --clear-groups env -u PGDATA"
	$as initdb -D pg -U postgres -A trust >/dev/null 2>said || not_ok programs_postgres "initdb: $(tail -n 1 said)"
	served postgres postgres_client $as postgres -D pg -k "$tmp/socket" -h ""
fi

redis_client() {
	answers redis-cli -s redis.socket PING &&
		busy redis-server redis-benchmark -s redis.socket -q -n 200000 -P 16 -t set,get,incr,lpush,hset,zadd &&
		{ redis-cli -s redis.socket SHUTDOWN NOSAVE || true; }
}
have redis-server redis-cli redis-benchmark && served redis redis_client redis-server --port 0 --unixsocket redis.socket --save ""

nginx_client() {
	answers curl -sf -o /dev/null "http://127.0.0.1:$port/page" &&
		busy nginx ab -q -k -t 2 -n 10000000 -c 4 -H "Accept-Encoding: gzip" "http://127.0.0.1:$port/page" &&
		kill -TERM "$(cat nginx.pid)"
}
if have nginx ab curl; then
	port=$((20000 + $$ % 20000))
	seq 100000 >page
	cat >nginx.conf <<-END
		daemon off; user root; worker_processes 2; pid $tmp/nginx.pid; error_log $tmp/nginx.error;
		events { }
		http { access_log off; gzip on; gzip_http_version 1.0; gzip_types *; client_body_temp_path $tmp; proxy_temp_path $tmp; fastcgi_temp_path $tmp; uwsgi_temp_path $tmp; scgi_temp_path $tmp;
		server { listen 127.0.0.1:$port; root $tmp; } }
	END
	served nginx nginx_client nginx -c "$tmp/nginx.conf" -e "$tmp/nginx.error"
fi
finish
