// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <string.h>

static const struct lab_command commands[] = {
	{"hash", "[--bits 11] [--tuples edges|calls|loads] [FILE...]",
	 "PC WORD -> index of the sampler's hash", lab_hash},
	{"compress",
	 "SPEC [--seed 1] [--evict N] [--replace N] [--ways N] [--tag-bits N] "
	 "[--tuples edges|calls|loads] [FILE...]",
	 "PC WORD -> PC WORD COUNT; SPEC as R256 P256 CR256 H[P256]2048 T[256]2048 ...A16",
	 lab_compress},
	{"paths",
	 "[--map bl|wpp] [--max-length 32] [--extend loop|call --extensions M] [--drain] [FILE...]",
	 "FROM KIND TARGET TAKEN NEXT [EVENTS] -> START LENGTH OUTCOMES EVENTS", lab_paths},
	{"hpt", "[--entries 512] [--ways 4] [--policy lfu|tail] [--spill] [FILE...]",
	 "START LENGTH OUTCOMES [COUNT] -> START LENGTH OUTCOMES COUNT", lab_hpt},
	{"converge",
	 "[--entries 10] [--clear 2000] [--interval 2000] [--heuristic increasing|bounds] "
	 "[--increase 2] [--decrease 4] [--back-off 100] [--random] [--seed 1] [FILE...]",
	 "SITE VALUE -> SITE EXECUTIONS PROFILED LVP INV-1 INV-N, of all INV-1 INV-N, "
	 "VALUE:COUNT...",
	 lab_converge},
	{"overlap", "A B", "percent of two profiles KEY<TAB>COUNT that is the same", lab_overlap},
	{"compare", "ACTUAL ASSUMED [--branches] [--epsilon E] [--json]",
	 "how different two profiles are: KEY<TAB>COUNT -> name value", lab_compare},
	{"combine", "--method unscaled|scaled|polling|kl A B [C...]",
	 "several profiles KEY<TAB>COUNT -> one, KEY<TAB>WEIGHT", lab_combine},
	{"number", "DAG [--interesting FILE]",
	 "FROM TO -> Ball-Larus (and preferential) weights, ids of interesting paths", lab_number},
	{"trace-summary", "TRACE [--function NAME]",
	 "what an exact trace holds; of a function: calls, paths, branches", lab_trace_summary},
	{"windows", "TRACE [--taken 32] [--windows 10000] [--seed 1] [--falsify]",
	 "windows of taken branches, reconstructed from the code and held against the trace",
	 lab_windows_command},
	{"graph", "FILE | --trace TRACE [--cache DIR] [--json] [--top 20] [--allow 0] [--forget N]",
	 "the control-flow graph of a file in figures; what a trace executed that is not in it",
	 lab_graph_command},
	{"counts", "[--binary FILE] [--top 10] [--all] COUNTS...",
	 "the hottest paths of programs built with pathprof-cc; UNIT FUNCTION PATH COUNT",
	 lab_counts},
	{"experiment", "NAME|all|list [--programs A,B] [--out experiments] [--small|--full]",
	 "the papers' tables and figures on today's programs", lab_experiment_command},
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("pathprof-lab: path profiling algorithms on recorded streams\n\n"
	      "usage: pathprof-lab COMMAND ...    (FILE - or none: standard input)\n\n",
	      out);
	for (size_t i = 0; i < COMMAND_CNT; i++)
		fprintf(out, "  %s %s\n      %s\n", commands[i].name, commands[i].arguments,
			commands[i].does);
	fputs("\nA FILE may be an exact trace (pathprof-trace): then its branches are the stream.\n"
	      "Addresses are hexadecimal, counts decimal, columns split by blanks. KIND is one "
	      "of\n"
	      "cond jmp ijmp call icall ret. Exit status: 0, 1 for bad input, 2 for bad usage.\n",
	      out);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
		puts("pathprof-lab " PATHPROF_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMAND_CNT; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	lab_usage("no command '%s'", argv[1]);
}
