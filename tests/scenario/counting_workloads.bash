# SPDX-License-Identifier: GPL-2.0-or-later
# Workloads of the programs of counting_sources.bash: always the same, in one thread, and growing with a
# size. $here must be the directory of this file.

# The table of workloads: PROGRAM, or PROGRAM-MODE. What is read by eval has $run, which stands for the
# program with what is put before it, in a directory with the input.
declare -A workload=(
	[gzip-c]='$run -c text'
	[bzip2-c]='$run -c text'
	[bzip2-d]='$run -dc text.bz2'
	[lua5.4]='$run input.lua'
	[sqlite3]='$run :memory: ".read input.sql"'
	[libzstd]='$run -5 -c text >packed && $run -dc packed && $run -13 -c text'
	[expat]='mkdir -p out && $run -n -c -d out input.xml && cat out/input.xml && $run -m -p -d out input.xml && cat out/input.xml'
	[mujs]='$run input.js'
	[lzip]='$run -1 -c text >packed && $run -dc packed && $run -0 -c text'
	[mawk]='$run -f input.awk text'
)
program_in() { echo "${1%-[cd]}"; } # WORKLOAD

# of_text BYTES: source text, of the folder $texts if that is set.
of_text() { while cat "$here/../../${texts:-libprofile/src}"/*/*.c; do :; done 2>&- | head -c "$1" >text; }

of_sql() { # ROWS
	cat >input.sql <<-END
		create table item(id integer primary key, name text, price real, kind int);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
		insert into item select i, printf('item %d', i * 7919 % 10007), i * 0.37, i % 17 from n;
		create index by_kind on item(kind, name);
		begin;
		update item set price = price * 2 where kind in (3, 5, 7);
		delete from item where name like '%99%';
		commit;
		select kind, count(*), round(avg(price), 2), max(name) from item group by kind having count(*) > 2;
		select a.name, b.name from item a join item b on a.kind = b.kind and a.id < b.id order by b.name, a.id limit 10;
		select name, row_number() over (partition by kind order by price desc) from item where id % 50 = 0;
		create trigger t after insert on item begin update item set kind = 0 where id = new.id - 1; end;
		insert into item(name, price) values ('one', json_extract('{"a":[1,2,{"b":3}]}', '\$.a[2].b'));
		select hex(name), quote(price), typeof(kind), substr(name, 2, 3) from item order by id desc limit 5;
		select * from missing;
		pragma integrity_check;
	END
}

of_xml() { # ELEMENTS
	awk -v n="$1" 'BEGIN {
		print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE r [<!ELEMENT r ANY><!ENTITY e \"an <b>entity</b>\">"
		print "<!ATTLIST i kind (a|b) \"a\" note CDATA #IMPLIED>]>\n<r xmlns:x=\"http://example.org/x\">"
		for (i = 0; i < n; i++) {
			printf "<i note=\"n%d &lt; &#%d;\"><x:j y=\"%d\">text %d &e;</x:j>", i, 65 + i % 26, i * i, i
			if (i % 5 == 0) printf "<![CDATA[ <%d> ]]><!-- a comment --><?pi some data?>", i
			print "caf\303\251 \342\202\254</i>"
		}
		print "</r>"
	}' >input.xml
}

of_js() { # ROUNDS
	cat >input.js <<-END
		function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		var list = [], seen = {}, caught = 0, words = 0;
		for (var i = 0; i < $1; i++) {
			list.push({ key: "k" + (i * 7919 % 1009), value: Math.sqrt(i) });
			seen[list[i].key] = i;
			try { if (i % 3 === 0) throw new Error("third"); JSON.parse(i % 2 ? "[{" : "[1]"); null.x; }
			catch (e) { caught += e instanceof TypeError ? 1 : 2; }
			finally { words += "a bc def".replace(/(\w)(\w+)/g, "\$2\$1").split(" ").length; }
			switch (i % 4) { case 0: delete seen.k0; break; case 1: continue; default: words ^= i; }
		}
		list.sort(function (a, b) { return a.key < b.key ? -1 : a.key > b.key ? 1 : a.value - b.value; });
		print(fib(8 + $1 / 100), caught, words, JSON.stringify(JSON.parse(JSON.stringify(list))).length);
		for (var k in seen) words += seen[k];
		print(words, parseFloat("1e-7"), (12345.678).toFixed(1), new Date(0).toISOString(), [3, 1, 2].map(String).join());
	END
}

of_awk() { # BYTES
	of_text "$1"
	cat >input.awk <<-'END'
		function indent(s) { match(s, /^\t*/); return RLENGTH }
		BEGIN { FS = "[ \t(,;]+"; srand(1); OFS = "|" }
		/^(static|struct|int)/ && !/;$/ { heads[$2]++; next }
		{ depth[indent($0)]++; for (i = 1; i <= NF; i++) if ($i ~ /^[a-z_]+$/) word[$i] += length($i) }
		$1 == "return" || NF > 6 && toupper($2) < "M" { $3 = substr($0, NF, 5) rand() < 0.5 ? "x" : "y"; line = $0; gsub(/[aeiou]+/, "<&>", line) }
		{ n = split($0, part, /->|\./); total += n ^ 2 % 7; if (n > 3) { delete part[n]; while (n-- > 1) if (n in part) last = part[n] } }
		END {
			for (w in word) if (word[w] > best) { best = word[w]; name = w }
			printf "%s %d %5.2f %x %c%s\n", name, best, total / NR, total, 65 + NR % 26, sprintf("%-5s", last)
			print length(line), index(line, "<"), indent("\t\tx"), int(-3.7), log(exp(2)), line
			print | "cat"; close("cat"); do { getline x < "input.awk"; k++ } while (k < 4); print x
		}
	END
}

of_lua() { # ROUNDS
	cat >input.lua <<-END
		local N = $1
		local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
		local t = {}
		for i = 1, N * 20 do t[i] = string.format("%d:%s", (i * 7919) % 10007, ("x"):rep(i % 7)) end
		table.sort(t)
		local sum = 0
		for _, s in ipairs(t) do sum = sum + #s:gsub("x+", function(x) return #x end) end
		local ok, err = pcall(function() error({}) end)
		for i = 1, N * 2 do pcall(error, i) end
		local co = coroutine.wrap(function() for i = 1, N do coroutine.yield(i) end end)
		for i = 1, N do co() end
		print(fib(10 + N // 100), sum, ok, load("return 1 +") == nil)
	END
}

# prepare WORKLOAD SIZE: its input, in the working directory.
prepare() {
	case $(program_in "$1") in
	lua5.4) of_lua $((100 * $2)) ;;
	sqlite3) of_sql $((60 * $2)) ;;
	expat) of_xml $((150 * $2)) ;;
	mawk) of_awk $((30000 * $2)) ;;
	mujs) of_js $((100 * $2)) ;;
	libzstd) of_text $((10000 * $2)) ;;
	*) of_text $((30000 * $2)) ;;
	esac
	[ "$1" != bzip2-d ] || bzip2 -k text
}
