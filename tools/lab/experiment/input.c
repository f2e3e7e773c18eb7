// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generated inputs. Each writer starts its own generator, so no input depends on another. An
 * expression draws once: compilers evaluate the arguments of a call in different orders.
 */
#include "input.h"

#include <stddef.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state >> 32) * below >> 32);
}

static const char *const nouns[] = {"river",   "engine", "table",  "doctor", "window",  "garden",
				    "teacher", "letter", "bridge", "forest", "student", "machine",
				    "captain", "market", "island", "lamp"};
static const char *const verbs[] = {"watched", "followed",   "opened",  "carried",  "painted",
				    "found",   "remembered", "crossed", "repaired", "described"};
static const char *const adjectives[] = {"old",    "quiet",   "bright",  "heavy", "small",
					 "broken", "distant", "patient", "cold",  "green"};
static const char *const joins[] = {"and", "because", "while", "although", "before"};

static void clause(FILE *out, uint64_t *state)
{
	const char *object = nouns[draw(state, COUNT(nouns))];
	const char *verb = verbs[draw(state, COUNT(verbs))];
	const char *subject = nouns[draw(state, COUNT(nouns))];

	fprintf(out, "the %s %s %s the %s", adjectives[draw(state, COUNT(adjectives))], subject,
		verb, object);
	if (draw(state, 3) == 0)
		fprintf(out, " near the %s", nouns[draw(state, COUNT(nouns))]);
}

static void sentence(FILE *out, uint64_t *state)
{
	clause(out, state);
	if (draw(state, 2)) {
		fprintf(out, " %s ", joins[draw(state, COUNT(joins))]);
		clause(out, state);
	}
}

/* Prose with numbers in it, so that packers meet matches long and short and some noise. */
void lab_input_text(FILE *out)
{
	uint64_t state = 0x1234567;

	for (int i = 0; i < 60000; i++) {
		sentence(out, &state);
		if (draw(&state, 4) == 0) {
			uint32_t low = draw(&state, 65536);

			fprintf(out, " %08x%04x", draw(&state, UINT32_MAX), low);
		}
		fputs(draw(&state, 5) ? ". " : ".\n", out);
	}
}

void lab_input_sentences(FILE *out)
{
	uint64_t state = 0x89abcdef;

	for (int i = 0; i < 400; i++) {
		sentence(out, &state);
		fputs(".\n", out);
	}
}

/* One of four shapes of function: a search, a switch, a walk over a list, arithmetic in nests. */
static void function(FILE *out, int i, uint64_t *state)
{
	unsigned int a = draw(state, 100) + 1, b = draw(state, 50) + 2, c = draw(state, 7) + 1;

	switch (draw(state, 4)) {
	case 0:
		fprintf(out,
			"int f%d(int *v, int n) {\n\tint lo = 0, hi = n, best = -%u;\n"
			"\twhile (lo < hi) {\n\t\tint mid = (lo + hi) / 2;\n"
			"\t\tif (v[mid] * %u < n + %u) lo = mid + 1;\n"
			"\t\telse { hi = mid; best = best > v[mid] ? best : v[mid]; }\n\t}\n"
			"\treturn best + lo;\n}\n",
			i, a, b, c);
		break;
	case 1:
		fprintf(out,
			"int f%d(int *v, int n) {\n\tint sum = 0;\n"
			"\tfor (int i = 0; i < n; i++)\n\t\tswitch (v[i] %% %u) {\n",
			i, b);
		for (unsigned int k = 0; k < b && k < 12; k++)
			fprintf(out, "\t\tcase %u: sum %s= v[i] %s %u; break;\n", k,
				k % 2 ? "+" : "^", k % 3 ? "*" : "-", draw(state, 90) + 1);
		fputs("\t\tdefault: sum++;\n\t\t}\n\treturn sum;\n}\n", out);
		break;
	case 2:
		fprintf(out,
			"int f%d(int *v, int n) {\n\tstruct node *at = list;\n\tint depth = 0;\n"
			"\twhile (at && depth < n) {\n\t\tif (at->value == %u) return depth;\n"
			"\t\tat->value += v[depth %% %u];\n"
			"\t\tat = at->value & %u ? at->next : at->other;\n\t\tdepth++;\n\t}\n"
			"\treturn -depth;\n}\n",
			i, a, b, c);
		break;
	default:
		fprintf(out,
			"int f%d(int *v, int n) {\n\tdouble s = %u.5;\n"
			"\tfor (int i = 0; i < n; i++)\n\t\tfor (int j = i; j < n; j += %u)\n"
			"\t\t\tif (v[i] > v[j]) { int t = v[i]; v[i] = v[j]; v[j] = t; }\n"
			"\t\t\telse s = s * 0.%u + v[j];\n\treturn (int)s%s;\n}\n",
			i, a, c, b, i > 2 ? " + f1(v, n / 2)" : "");
	}
}

/* Preprocessed C, without includes. */
void lab_input_c(FILE *out)
{
	uint64_t state = 0xfeedface;

	fputs("struct node { struct node *next, *other; int value; };\n"
	      "extern struct node *list;\nint f1(int *, int);\n",
	      out);
	for (int i = 0; i < 300; i++)
		function(out, i, &state);
	fputs("int (*const table[])(int *, int) = {", out);
	for (int i = 0; i < 300; i++)
		fprintf(out, "f%d, ", i);
	fputs("};\n", out);
}

void lab_input_perl(FILE *out)
{
	fputs("use strict;\nmy (%count, %after);\nwhile (<>) {\n  my $last = '';\n"
	      "  foreach my $w (split /[^a-z0-9]+/) {\n    $count{$w}++;\n"
	      "    push @{$after{$last}}, $w if $w =~ /^(.)[a-m]+(?:e|r)/ && length $w > 3;\n"
	      "    $last = $w;\n  }\n  s/(\\w+) the (\\w+)/$2 of $1/g;\n"
	      "  print if tr/aeiou// % 3 == 0;\n}\n"
	      "print \"$_ $count{$_}\\n\" for sort { $count{$b} <=> $count{$a} || $a cmp $b }\n"
	      "  keys %count;\n",
	      out);
}

void lab_input_lua(FILE *out)
{
	fputs("local function queens(n, row, cols, up, down)\n  if row > n then return 1 end\n"
	      "  local cnt = 0\n  for c = 1, n do\n"
	      "    if not cols[c] and not up[row + c] and not down[row - c] then\n"
	      "      cols[c], up[row + c], down[row - c] = true, true, true\n"
	      "      cnt = cnt + queens(n, row + 1, cols, up, down)\n"
	      "      cols[c], up[row + c], down[row - c] = nil, nil, nil\n    end\n  end\n"
	      "  return cnt\nend\nlocal t = {}\nfor round = 1, 40 do\n"
	      "  t[#t + 1] = ('%d queens %d'):format(7, queens(7, 1, {}, {}, {}))\n"
	      "  for i = 1, 3000 do t[#t + 1] = ('%05d'):format((i * 7919) % 10007) end\n"
	      "  table.sort(t)\n  local s = table.concat(t, ' ')\n"
	      "  local n = 0\n  for w in s:gmatch('%d+7') do n = n + #w end\n"
	      "  print(n, s:gsub('1', 'x'):sub(1, 20))\n  if #t > 9000 then t = {} end\nend\n",
	      out);
}

void lab_input_sql(FILE *out)
{
	fputs("create table a(id integer primary key, k int, name text);\n"
	      "create table b(id integer primary key, a int, v real);\n"
	      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)\n"
	      "  insert into a select i, (i * 7919) % 997, 'name' || (i % 313) from n;\n"
	      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)\n"
	      "  insert into b select i, (i * 104729) % 40000, i * 0.5 from n;\n"
	      "create index b_a on b(a);\n",
	      out);
	for (int i = 0; i < 12; i++)
		fprintf(out,
			"select name, count(*), sum(v) from a join b on b.a = a.id\n"
			"  where k %% 11 <> %d group by name order by 3 desc limit 20;\n"
			"update a set k = k + 1 where name like '%%%d';\n",
			i, i);
}

void lab_input_python(FILE *out)
{
	fputs("class Node:\n    def __init__(self, key):\n        self.key = key\n"
	      "        self.left = self.right = None\n\n"
	      "    def insert(self, key):\n        if key < self.key:\n"
	      "            if self.left: self.left.insert(key)\n"
	      "            else: self.left = Node(key)\n        elif key > self.key:\n"
	      "            if self.right: self.right.insert(key)\n"
	      "            else: self.right = Node(key)\n\n"
	      "    def walk(self):\n        if self.left: yield from self.left.walk()\n"
	      "        yield self.key\n        if self.right: yield from self.right.walk()\n\n"
	      "count = {}\nfor r in range(60):\n    root = Node(5000)\n"
	      "    for i in range(1500):\n        root.insert((i * 7919 + r) % 10007)\n"
	      "    for k in root.walk():\n        s = '%d-%s' % (k % 97, chr(97 + k % 26))\n"
	      "        count[s] = count.get(s, 0) + 1\n"
	      "    best = sorted(count.items(), key=lambda p: (-p[1], p[0]))[:10]\n"
	      "    print(' '.join('%s=%d' % p for p in best))\n",
	      out);
}

void lab_input_chess(FILE *out)
{
	fputs("book off\ndepth 7\n", out);
	for (int i = 0; i < 6; i++)
		fputs("go\n", out);
	fputs("quit\n", out);
}

void lab_input_postscript(FILE *out)
{
	fputs("%!PS\n/Times-Roman findfont 14 scalefont setfont\n"
	      "1 1 3 { /page exch def\n"
	      "  1 1 400 { /i exch def\n    newpath i 1.4 mul 50 moveto\n"
	      "    i page mul 600 mod i 300 add i 7 mul 600 mod 500 i 700 curveto\n"
	      "    i 40 mod 40 div 0.5 0.2 setrgbcolor i 5 mod 0 eq { fill } { stroke } ifelse\n"
	      "    0 setgray i 31 mul 500 mod i 57 mul 700 mod moveto i 20 string cvs show\n"
	      "  } for\n  showpage\n} for\n",
	      out);
}

void lab_input_go(FILE *out)
{
	fputs("boardsize 13\n", out);
	for (int i = 0; i < 20; i++)
		fputs("genmove black\ngenmove white\n", out);
	fputs("quit\n", out);
}

/* Bytes that no packer can make smaller. */
void lab_input_noise(FILE *out)
{
	uint64_t state = 0x5eed;

	for (int i = 0; i < 1000000; i++)
		fputc((int)draw(&state, 256), out);
}

/* A server's log: long matches, numbers that count up. */
void lab_input_log(FILE *out)
{
	static const char *const methods[] = {"GET", "GET", "GET", "POST", "HEAD"};
	static const char *const pages[] = {"/", "/index.html", "/img/logo.png", "/api/v1/items",
					    "/search"};
	uint64_t state = 0x106;

	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t net = draw(&state, 4), host = draw(&state, 256);
		const char *method = methods[draw(&state, COUNT(methods))];
		const char *page = pages[draw(&state, COUNT(pages))];
		uint32_t status = draw(&state, 20) ? 200 : 404;

		fprintf(out,
			"10.0.%u.%u - - [21/Nov/2025:%02u:%02u:%02u +0000] \"%s %s HTTP/1.1\" %u "
			"%u\n",
			net, host, i / 3600 % 24, i / 60 % 60, i % 60, method, page, status,
			draw(&state, 90000));
	}
}

void lab_input_perl_log(FILE *out)
{
	fputs("use strict;\nmy (%hits, %bytes, @slow);\nwhile (<>) {\n"
	      "  next unless m{^(\\S+) \\S+ \\S+ \\[([^\\]]+)\\] \"(\\w+) (\\S+)[^\"]*\" (\\d+) "
	      "(\\d+)};\n"
	      "  my ($host, $when, $how, $page, $status, $size) = ($1, $2, $3, $4, $5, $6);\n"
	      "  $hits{$page}{$how}++;\n  $bytes{$host} += $size;\n"
	      "  push @slow, [$when, $size] if $size > 80000 && $status == 200;\n}\n"
	      "for my $p (sort keys %hits) { printf \"%s %s\\n\", $p, join ',',\n"
	      "  map { \"$_=$hits{$p}{$_}\" } sort keys %{$hits{$p}}; }\n"
	      "print scalar(@slow), ' ', (sort { $b <=> $a } values %bytes)[0], \"\\n\";\n",
	      out);
}

void lab_input_lua_text(FILE *out)
{
	fputs("local words = {'river', 'engine', 'table', 'doctor', 'window', 'garden'}\n"
	      "local seed, count = 7, {}\nfor round = 1, 60 do\n  local line = {}\n"
	      "  for i = 1, 800 do\n    seed = (seed * 1103515245 + 12345) % 2147483648\n"
	      "    line[i] = words[seed // 65536 % #words + 1]\n  end\n"
	      "  local text = table.concat(line, ' ')\n"
	      "  for w in text:gmatch('%a+') do count[w] = (count[w] or 0) + 1 end\n"
	      "  text = text:upper():reverse():gsub('[AEIOU]', '%0%0')\n"
	      "  if text:find('ENIGNE', 1, true) then print(#text) end\nend\n"
	      "for _, w in ipairs(words) do print(w, count[w]) end\n",
	      out);
}

void lab_input_lua_numbers(FILE *out)
{
	fputs("local n = 60\nlocal a, b, c = {}, {}, {}\nfor i = 1, n do\n"
	      "  a[i], b[i], c[i] = {}, {}, {}\n"
	      "  for j = 1, n do a[i][j], b[i][j] = i + j, i - j end\nend\n"
	      "for round = 1, 4 do\n  for i = 1, n do\n    for j = 1, n do\n      local s = 0\n"
	      "      for k = 1, n do s = s + a[i][k] * b[k][j] end\n      c[i][j] = s\n"
	      "    end\n  end\nend\nlocal sieve, primes = {}, 0\nfor i = 2, 60000 do\n"
	      "  if not sieve[i] then\n    primes = primes + 1\n"
	      "    for j = i * i, 60000, i do sieve[j] = true end\n  end\nend\n"
	      "print(c[7][9], primes)\n",
	      out);
}

/* Many small statements by key. */
void lab_input_sql_keys(FILE *out)
{
	uint64_t state = 0x5c1;

	fputs("create table a(id integer primary key, k int, name text);\n"
	      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)\n"
	      "  insert into a select i, (i * 7919) % 997, 'name' || (i % 313) from n;\n",
	      out);
	for (int i = 0; i < 4000; i++) {
		uint32_t id = draw(&state, 5000) + 1;

		switch (draw(&state, 4)) {
		case 0:
			fprintf(out, "update a set k = k + 1 where id = %u;\n", id);
			break;
		case 1:
			fprintf(out, "insert or replace into a values(%u, %u, 'new%u');\n", id, id,
				id % 17);
			break;
		default:
			fprintf(out, "select name, k from a where id = %u;\n", id);
		}
	}
}

void lab_input_sql_text(FILE *out)
{
	fputs("create table t(id integer primary key, line text);\n"
	      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)\n"
	      "  insert into t select i, printf('%05d the %x river %d', i, i * 7919, i % 31) from "
	      "n;\n",
	      out);
	for (int i = 0; i < 30; i++)
		fprintf(out,
			"select count(*), max(length(replace(line, 'river', '%d'))) from t\n"
			"  where line like '%%%d%%river%%' or substr(upper(line), 5, 3) glob "
			"'*%d*';\n",
			i, i, i % 10);
}

void lab_input_python_text(FILE *out)
{
	fputs("import re, json\nwords = 'river engine table doctor window garden'.split()\n"
	      "seed, rows = 7, []\nfor i in range(4000):\n    seed = (seed * 1103515245 + 12345) % "
	      "2**31\n"
	      "    rows.append({'id': i, 'word': words[seed >> 16 & 3], 'tags': words[:i % 4]})\n"
	      "text = json.dumps(rows)\nback = json.loads(text)\n"
	      "found = re.findall(r'\"word\": \"(\\w+)e[rn]\"', text)\n"
	      "print(len(text), len(back), len(found))\n"
	      "print(' '.join(sorted({w.title() for r in back for w in r['tags']})))\n",
	      out);
}

void lab_input_python_numbers(FILE *out)
{
	fputs("n = 40\na = [[(i * j) % 7 + 0.5 for j in range(n)] for i in range(n)]\n"
	      "for r in range(3):\n    c = [[sum(x * y for x, y in zip(row, col)) % 11 for col in "
	      "zip(*a)]"
	      " for row in a]\n    a = c\nsieve = bytearray(200000)\nprimes = 0\n"
	      "for i in range(2, 200000):\n    if not sieve[i]:\n        primes += 1\n"
	      "        for j in range(i * i, 200000, i):\n            sieve[j] = 1\n"
	      "big = 1\nfor i in range(1, 1500):\n    big *= i\n"
	      "print(a[3][4], primes, len(str(big)))\n",
	      out);
}
