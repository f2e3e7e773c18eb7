# SPDX-License-Identifier: GPL-2.0-or-later
# The only makefile. `make run` and `make check` need nothing before them on a fresh Debian 12; on a fresh
# Debian 13 all that builds and installs needs nothing either. Lines that begin with ## are what `make help`
# prints.

BUILD := build
# One name for a directory in this tree: what an object was made of is noted under the name that it had.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= /usr/sbin/bpftool
CSTD := -std=gnu11
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
OPT ?= -O2 -g
CPPFLAGS := -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -Ilibprofile/include -Ilibprofile -I$(BUILD)/gen
CFLAGS := $(CSTD) $(OPT) $(WARN) -fstack-protector-strong -fPIE
LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS := -ldw -lelf -lZydis -lsqlite3 -lsystemd -ljansson -linih -lpfm -lbpf -lcap -lncursesw -ltinfo -lzstd -lxxhash -lprotobuf-c -lz -lm
# Of the relay alone, and of the tests that look into it.
NETWORK_LIBS := -lcurl -lmicrohttpd
SAN := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# The changelog of the packages says which version this is, and nothing else does.
VERSION := $(shell sed -n '1s/^pathprof (\([^)-]*\).*/\1/p' packaging/debian/changelog)
$(if $(VERSION),,$(error packaging/debian/changelog does not begin with "pathprof (VERSION)"))
CPPFLAGS += -DPATHPROF_VERSION='"$(VERSION)"'
# Two builds in two directories give the same bytes.
CPPFLAGS += -ffile-prefix-map='$(CURDIR)'=.

LIB_SRC := $(wildcard libprofile/base/*.c libprofile/src/*.c libprofile/src/*/*.c)
DAEMON_SRC := $(filter-out daemon/main.c %.bpf.c,$(wildcard daemon/*.c daemon/*/*.c))
RELAY_SRC := $(filter-out tools/relay/main.c,$(wildcard tools/relay/*.c))
# What pathprofd, pathprof-relay and pathprof-hub are made of.
SHARED_SRC := $(wildcard daemon/shared/*.c)
BPF_SRC := $(wildcard daemon/bpf/*.bpf.c)
CTL_SRC := $(wildcard tools/ctl/*.c tools/ctl/*/*.c)
LAB_SRC := $(wildcard tools/lab/*.c tools/lab/*/*.c)
TRACE_SRC := $(wildcard tools/trace/*.c)
HUB_SRC := $(wildcard tools/hub/*.c)
PLUGIN_SRC := $(wildcard tools/trace/plugin/*.c)
# Of pathprofctl and the hub what stands alone.
CTL_TESTED := tools/ctl/scratch.c $(patsubst %,tools/ctl/text/%.c,brief_name cleanup lost output when)
HUB_TESTED := $(patsubst %,tools/hub/%.c,address alert_text child judged pause peer_text pgo_jobs refusals scratch share turns watch)
LAB_TESTED := $(filter-out tools/lab/main.c,$(LAB_SRC))
UNIT_SRC := $(wildcard tests/unit/*.c)
SCHEMA := $(sort $(wildcard schema/sqlite/*.sql))

# One word and the file; V=1 shows the commands.
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(2);)
obj = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))

PROGRAMS := $(BUILD)/bin/pathprof-lab $(BUILD)/bin/pathprofd $(BUILD)/bin/pathprof-relay \
	$(BUILD)/bin/pathprofctl $(BUILD)/bin/pathprof-trace $(BUILD)/bin/pathprof-hub
PLUGIN := $(BUILD)/lib/pathprof/trace-plugin.so

# Of pathprof-cc: only where there is LLVM 22 to build it with (docs/instrumentation.md).
LLVM := /usr/lib/llvm-22
COUNTING_CLANG := $(shell command -v clang-22)
ifneq ($(wildcard $(LLVM)/include/llvm-c/Core.h),)
ifneq ($(COUNTING_CLANG),)
COUNTING_CC := $(BUILD)/bin/pathprof-cc $(BUILD)/bin/pathprof-c++
COUNTING := $(patsubst %,$(BUILD)/lib/pathprof/%,counting-plugin-22.so libpathprof-counting.a \
	libpathprof-counting-threads.a)
endif
endif

## all: builds the programs (V=1 shows the commands, BUILD=directory takes another one)
all: $(PROGRAMS) $(PLUGIN) $(COUNTING_CC) $(COUNTING)
ifeq ($(COUNTING),)
	@echo "pathprof-cc is not built: it needs clang-22 and llvm-22-dev"
endif

# ---------------------------------------------------------------- objects
# What objects are compiled with, wherever they go. Where it changes they are compiled anew, so a package never holds
# one that was made with other flags.
FLAGS = $(subst $(CURDIR),.,$(subst -I$(BUILD)/gen,,$(CC) $(CPPFLAGS) $(CFLAGS) $(CLANG) $(BPF_FLAGS)))
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@

# Whoever asks for a file by its whole name gets the same.
ifeq ($(filter /%,$(BUILD)),)
$(CURDIR)/$(BUILD)/%: $(BUILD)/%
	@:
endif

# Two builds of everything: obj, and san (address and undefined-behaviour sanitizers).
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
# The tests themselves are not worth an optimizer's time.
$(BUILD)/san/tests/%.o: SAN := $(subst -O1,-O0,$(SAN))
$(BUILD)/san/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CFLAGS) $(SAN) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/san/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -U_FORTIFY_SOURCE -c -o $@ $<

# Lines of a file as strings of C.
c_strings := sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/'

# The migrations travel inside the programs: one string a file, in order of name.
$(BUILD)/gen/schema.c: $(SCHEMA)
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '#include <stddef.h>'; echo '#include "pathprof/schema.h"'; \
	  echo 'const char *const pathprof_schema_sqlite[] = {'; \
	  for f in $(SCHEMA); do \
	    $(c_strings) $$f; echo ,; done; \
	  echo 'NULL};'; } > $@

# The script of `pathprof-hub demo` travels inside that program.
$(BUILD)/gen/hub_demo.c: tools/hub/demo.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo 'extern const char hub_demo_script[];'; echo 'const char hub_demo_script[] ='; \
	  $(c_strings) $<; echo ';'; } > $@

# Messages of protobuf, as C: gen/NAME.pb-c.[ch] of NAME.proto.
MESSAGES := libprofile/src/export/pprof.proto schema/wire/parcel.proto
message_objects = $(patsubst %.proto,$(BUILD)/$(1)/%.pb-c.o,$(notdir $(MESSAGES)))
define message
$(BUILD)/gen/$(basename $(notdir $(1))).pb-c.c: $(1)
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)protoc-c --proto_path=$$(<D) --c_out=$$(@D) $$(<F)
endef
$(foreach m,$(MESSAGES),$(eval $(call message,$(m))))
includes_message = $(patsubst %,$(BUILD)/%/libprofile/src/$(1).o,obj san fuzz/obj): $(BUILD)/gen/$(2).pb-c.c
$(call includes_message,export/pprof_pack,pprof)
$(call includes_message,export/write_pprof,pprof)
$(call includes_message,export/write_stacks,pprof)
$(call includes_message,parcel/parcel_write,parcel)
$(call includes_message,parcel/parcel_read,parcel)
$(call includes_message,parcel/parcel_rows,parcel)
$(call includes_message,parcel/parcel_read_names,parcel)
$(BUILD)/fuzz/obj/%.pb-c.o: $(BUILD)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) -U_FORTIFY_SOURCE $(CSTD) $(FUZZ_FLAGS) -c -o $@ $<

# BPF programs travel inside the daemon: daemon/bpf/NAME.bpf.c becomes gen/NAME.skel.h. What the
# kernel's headers need of the architecture lies in a directory of its own.
SKELETONS := $(patsubst daemon/bpf/%.bpf.c,$(BUILD)/gen/%.skel.h,$(BPF_SRC))
BPF_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wno-unused-parameter -Ilibprofile/core -Ilibprofile/include \
	-ffile-prefix-map='$(CURDIR)'=. \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch)
# Kept, though they are a step on the way: whoever asks for one would make it anew, newer than all made of it.
.PRECIOUS: $(BUILD)/bpf/%.bpf.o
$(BUILD)/bpf/%.bpf.o: daemon/bpf/%.bpf.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '/* NOLINTBEGIN */'; $(BPFTOOL) gen skeleton $<; \
	  echo '/* NOLINTEND */'; } >$@
$(foreach b,obj san fuzz/obj,$(patsubst %.c,$(BUILD)/$(b)/%.o,$(filter daemon/bpf/%,$(DAEMON_SRC)))): $(SKELETONS)
# What linters must have before they can read the sources.
generated: $(SKELETONS) $(patsubst %.proto,$(BUILD)/gen/%.pb-c.c,$(notdir $(MESSAGES)))

LIB := $(BUILD)/libpathprof.a
LIB_SAN := $(BUILD)/libpathprof-san.a
$(LIB): $(call obj,obj,$(LIB_SRC)) $(BUILD)/obj/schema.o $(call message_objects,obj)
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(LIB_SAN): $(call obj,san,$(LIB_SRC)) $(BUILD)/san/schema.o $(call message_objects,san)
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^

link = $(call say,LD,$@)mkdir -p $(@D); $(CC) $(CFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)

$(BUILD)/bin/pathprof-lab: $(call obj,obj,$(LAB_SRC)) $(LIB)
	$(call link)
$(BUILD)/bin/pathprofd: $(call obj,obj,$(DAEMON_SRC) daemon/main.c) $(LIB)
	$(call link)
$(BUILD)/bin/pathprof-relay: $(call obj,obj,$(RELAY_SRC) tools/relay/main.c $(SHARED_SRC)) $(LIB)
	$(call link) $(NETWORK_LIBS)
$(BUILD)/bin/pathprofctl: $(call obj,obj,$(CTL_SRC)) $(LIB)
	$(call link) -liberty
# pathprofctl under the sanitizers, for tests. It lies at a fixed address: relocating what the sanitizers
# describe would take a third of the time of its start.
$(BUILD)/tests/pathprofctl-san: LDFLAGS := $(patsubst -pie,-no-pie,$(LDFLAGS))
$(BUILD)/tests/pathprofctl-san: $(call obj,san,$(CTL_SRC)) $(LIB_SAN)
	$(call link,$(SAN)) -liberty
$(BUILD)/bin/pathprof-trace: $(call obj,obj,$(TRACE_SRC)) $(LIB)
	$(call link)
$(BUILD)/bin/pathprof-hub: $(call obj,obj,$(HUB_SRC) $(SHARED_SRC)) $(BUILD)/obj/hub_demo.o $(LIB)
	$(call link) $(NETWORK_LIBS) -lgnutls

# Loaded by the emulator: nothing of ours but the core's headers.
$(BUILD)/plugin/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CSTD) $(OPT) $(WARN) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
# What two stores wrote one after the other is not loaded as one: that waits for both.
$(BUILD)/plugin/tools/trace/plugin/count.o: OPT += -fno-tree-slp-vectorize
$(PLUGIN): $(patsubst %.c,$(BUILD)/plugin/%.o,$(PLUGIN_SRC))
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared -pthread -Wl,-z,relro,-z,now -o $@ $^

# Loaded by clang: of ours it holds what numbers paths, and reads which are interesting.
COUNTING_PLUGIN_SRC := $(wildcard tools/instrument/plugin/*.c) $(addprefix libprofile/src/path/, \
	dominators.c flow.c flow_search.c function_path_ids.c function_paths.c increments.c loops.c \
	numbering.c obvious.c preferential.c spread.c warm.c ways.c definite.c) \
	libprofile/src/counts/interesting.c libprofile/src/error.c libprofile/base/units.c libprofile/base/vector.c
$(BUILD)/plugin/tools/instrument/plugin/%.o: CPPFLAGS += -isystem $(LLVM)/include
$(BUILD)/lib/pathprof/counting-plugin-22.so: $(patsubst %.c,$(BUILD)/plugin/%.o,$(COUNTING_PLUGIN_SRC))
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared -Wl,-z,relro,-z,now -o $@ $^ -lxxhash

# Linked into programs and libraries of others, whatever they are compiled with.
COUNTING_THREADS_SRC := tools/instrument/runtime/create_dynamic.c
COUNTING_RUNTIME_SRC := $(filter-out $(COUNTING_THREADS_SRC),$(wildcard tools/instrument/runtime/*.c))
$(BUILD)/counting/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(COUNTING_CLANG) -Ilibprofile/include -D_GNU_SOURCE -ffile-prefix-map='$(CURDIR)'=. $(CSTD) \
		-O2 -g $(WARN) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector -MMD -MP -c -o $@ $<
$(BUILD)/lib/pathprof/libpathprof-counting.a: $(patsubst %.c,$(BUILD)/counting/%.o,$(COUNTING_RUNTIME_SRC))
# A static program has the C library's pthread_create() and no other of that name.
$(BUILD)/lib/pathprof/libpathprof-counting-threads.a: $(patsubst %.c,$(BUILD)/counting/%.o,$(COUNTING_THREADS_SRC))
$(BUILD)/lib/pathprof/libpathprof-%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(BUILD)/bin/pathprof-cc: $(BUILD)/obj/tools/instrument/cc/main.o $(BUILD)/obj/tools/instrument/cc/whole.o
	$(call say,LD,$@)mkdir -p $(@D); $(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS)
$(BUILD)/bin/pathprof-c++: $(BUILD)/bin/pathprof-cc
	$(call say,LN,$@)ln -sf pathprof-cc $@

# ---------------------------------------------------------------- packages
# What is missing is installed by apt, before anything is compiled.
BUILD_PACKAGES := gcc libc6-dev linux-libc-dev libdw-dev libelf-dev libdebuginfod1 libzydis-dev \
	libsqlite3-dev libsystemd-dev libjansson-dev libinih-dev libpfm4-dev libbpf-dev libcap-dev \
	libncurses-dev libzstd-dev libxxhash-dev libcurl4-gnutls-dev libmicrohttpd-dev \
	libgnutls28-dev libprotobuf-c-dev protobuf-c-compiler zlib1g-dev libiberty-dev clang bpftool
# What makes packages, makes the tarball, and tries both.
DEB_PACKAGES := build-essential debhelper dh-dkms dpkg-dev lintian
DIST_PACKAGES := dpkg-dev patchelf
TRY_PACKAGES := mmdebstrap buildah python3-yaml
# Of make test, make check and make check-all; each needs those before it as well.
TEST_PACKAGES := libcunit1-dev clang-format libc6-dbg python3 prometheus binutils bzip2 libbz2-dev git g++ \
	pkg-config procps util-linux
CHECK_PACKAGES := $(TEST_PACKAGES) clang-tidy cppcheck perl bzip2 gzip xz-utils sqlite3 tmux systemd \
	gdb strace bsdutils qemu-user gnuplot-nox lua5.4 graphviz openssl linux-perf zsh fish zstd \
	clang-22 llvm-22-dev libclang-rt-22-dev bolt-22 jq curl prometheus-alertmanager
CHECK_ALL_PACKAGES := $(CHECK_PACKAGES) libclang-rt-14-dev llvm lld llvm-22 bolt-19 autofdo golang-go rustc nodejs default-jdk-headless postgresql redis-server nginx-light apache2-utils x264 cmake meson ninja-build autoconf automake libtool ccache tcl \
	$(DEB_PACKAGES)
# The machine that the kernel module is run in, and what builds it. Kernels are not installed
# (tests/vm/kernels).
KMOD_PACKAGES := qemu-system-x86 busybox-static cpio kmod pahole dkms openssl qemu-user gzip bzip2 perl sqlite3
# The machine with a live systemd that the service is run in.
SYSTEMD_PACKAGES := qemu-system-x86 qemu-utils mmdebstrap e2fsprogs
# What the benchmarks run.
BENCH_PACKAGES := binutils bzip2 gzip lua5.4 openssl perl postgresql python3 qemu-user sqlite3 util-linux xz-utils
# What the papers' experiments run and draw with.
EXPERIMENT_PACKAGES := qemu-user gnuplot-nox cpp-12 gzip bzip2 perl xz-utils lua5.4 sqlite3 python3 \
	gnuchess ghostscript gnugo link-grammar

# ---------------------------------------------------------------- tests
# Tests may have one allocation of our own code fail (tests/unit/failing_memory.h).
FAILING_MEMORY := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/tests/unit: $(call obj,obj,$(UNIT_SRC) $(DAEMON_SRC) $(RELAY_SRC) $(CTL_TESTED) $(HUB_TESTED) $(LAB_TESTED)) $(LIB)
	$(call link,$(FAILING_MEMORY)) $(NETWORK_LIBS) -lcunit
$(BUILD)/tests/unit-san: $(call obj,san,$(UNIT_SRC) $(DAEMON_SRC) $(RELAY_SRC) $(CTL_TESTED) $(HUB_TESTED) $(LAB_TESTED)) $(LIB_SAN)
	$(call link,$(SAN) $(FAILING_MEMORY)) $(NETWORK_LIBS) -lcunit

# Programs of one file each. Workloads stand alone; the others use what they test.
WORKLOADS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/workloads/*.c tests/hostile/*.c))
HELPERS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/truth/*.c tests/tools/*.c \
	tests/bench/*.c))
$(WORKLOADS): $(BUILD)/tests/%: tests/%.c $(wildcard tests/hostile/*.h)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -Wno-unused-parameter -pthread -o $@ $<
$(HELPERS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(call obj,obj,$(DAEMON_SRC) $(RELAY_SRC)) $(LIB)
	$(call link) $(NETWORK_LIBS) -pthread

$(BUILD)/tests/tools/perf_data_write: $(call obj,obj,$(wildcard tests/tools/perf_data/*.c))

# What it loads travels inside.
$(BUILD)/obj/tests/tools/bpf_rights.o: $(SKELETONS)

programs-for-check: $(PROGRAMS) $(PLUGIN) $(COUNTING_CC) $(COUNTING) $(WORKLOADS) $(HELPERS) $(BUILD)/tests/unit-san $(BUILD)/tests/pathprofctl-san
programs-for-tests: programs-for-check $(BUILD)/tests/unit

# ---------------------------------------------------------------- fuzzing
FUZZ_SECONDS ?= 30
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
$(BUILD)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CSTD) $(FUZZ_FLAGS) \
		-fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/obj/schema.o: $(BUILD)/gen/schema.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) -U_FORTIFY_SOURCE $(CSTD) $(FUZZ_FLAGS) -c -o $@ $<
$(BUILD)/fuzz/lib.a: $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(LIB_SRC) $(DAEMON_SRC)) \
		$(BUILD)/fuzz/obj/schema.o $(call message_objects,fuzz/obj)
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/tests/fuzz/%.o $(BUILD)/fuzz/lib.a
	$(call say,LD,$@)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# ---------------------------------------------------------------- what people call
## help: this list
help:
	@sed -nE 's/^## ([a-z-]+): (.*)/\1\t\2/p' Makefile | awk -F '\t' '{ printf "%-16s %s\n", $$1, $$2 }'

need-build:
	@tools/need $(BUILD_PACKAGES)
need-test: need-build
	@tools/need $(TEST_PACKAGES)
need-check: need-build
	@tools/need $(CHECK_PACKAGES) $(KMOD_PACKAGES)
	-@VM_KERNELS='6.1.*' BUILD=$(BUILD) tests/vm/kernels
need-check-all: need-build
	@tools/need $(CHECK_ALL_PACKAGES) $(KMOD_PACKAGES) $(SYSTEMD_PACKAGES) $(TRY_PACKAGES) $(DIST_PACKAGES)
	-@BUILD=$(BUILD) tests/vm/kernels
need-fuzz: need-build
	@tools/need $(TEST_PACKAGES) libclang-rt-14-dev zstd
need-vm: need-build
	@tools/need $(KMOD_PACKAGES)
	-@BUILD=$(BUILD) tests/vm/kernels
need-systemd: need-build
	@tools/need $(SYSTEMD_PACKAGES)

## run: builds, and profiles this machine (DURATION=20: a report after 20 seconds)
run: need-build
	@$(MAKE) --no-print-directory -j2 all
	@DURATION=$(DURATION) BUILD=$(BUILD) tools/demo

## run-fleet: builds, and shows a fleet on this machine: a hub and three hosts
run-fleet: need-build
	@$(MAKE) --no-print-directory -j2 all
	@$(BUILD)/bin/pathprof-hub demo

# make's own name only where another make is started: a dry run does carry out such a line.
## test: unit tests and rules of the house, for every commit: two minutes
test: need-test
	@BUILD=$(BUILD) tests/run test --plan
	@$(MAKE) --no-print-directory -j2 programs-for-check
	@BUILD=$(BUILD) tests/run test

## check: is the software right? A quarter of an hour (ONLY=part, V=1)
check:
	@BUILD=$(BUILD) tests/run check --plan
	@$(MAKE) --no-print-directory need-check
	@$(MAKE) --no-print-directory -j2 programs-for-check
	@BUILD=$(BUILD) tests/run check

## check-all: every test at its full size: hours, and a network (ONLY=part, RESUME=1, FUZZ_SECONDS=30)
check-all:
	@BUILD=$(BUILD) tests/run check-all --plan
	@$(MAKE) --no-print-directory need-check-all
	@$(MAKE) --no-print-directory -j2 programs-for-tests
	@$(MAKE) --no-print-directory -j2 $(FUZZERS)
	@$(MAKE) --no-print-directory deb dist-bin
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run check-all

## check-vm: the kernel module in virtual machines (docs/kmod-testing.md)
check-vm: need-vm
	@BUILD=$(BUILD) tests/vm/run

## check-systemd: the service in a Debian guest with a live systemd (docs/service-testing.md)
check-systemd: need-systemd
	@BUILD=$(BUILD) tests/systemd/run

## check-vm-debug: the module in a kernel that watches itself, built here once: half an hour
check-vm-debug: need-build
	@tools/need $(KMOD_PACKAGES) linux-source-6.1 flex bison bc libelf-dev
	@BUILD=$(BUILD) tests/vm/debug/run

## check-headers: the module against headers of other kernels (HEADERS="bullseye noble")
check-headers:
	@BUILD=$(BUILD) tests/vm/headers $(HEADERS)

## check-packages: packages, tarball and image where they are installed: a quarter of an hour, and a network
check-packages: need-check-all
	@$(MAKE) --no-print-directory -j2 programs-for-tests
	@$(MAKE) --no-print-directory deb dist-bin
	@BUILD=$(BUILD) tests/packages/run

BENCHES := $(filter $(BUILD)/tests/bench/%,$(HELPERS)) $(wildcard tests/bench/bench_*.sh)
## bench: what things cost (ONLY=benchmark)
bench: need-build
	@tools/need $(BENCH_PACKAGES)
	@$(MAKE) --no-print-directory -j2 programs-for-bench
	@failed=; for b in $(BENCHES); do case $$b in *$(ONLY)*) echo "# $$(basename $$b .sh)"; \
		BUILD=$(BUILD) $$b || failed="$$failed $$b";; esac; done; \
	[ -z "$$failed" ] || { echo "bench: failed:$$failed" >&2; exit 1; }
programs-for-bench: $(PROGRAMS) $(PLUGIN) $(filter $(BUILD)/tests/bench/% $(BUILD)/tests/tools/%,$(HELPERS)) \
	$(BUILD)/tests/truth/bursts $(BUILD)/tests/workloads/values

## experiments: the papers' figures (SETTING=full: an hour instead of minutes)
experiments: need-build
	@tools/need $(EXPERIMENT_PACKAGES)
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(BUILD) SETTING=$(SETTING) tools/experiments

## lint: formatting, rules of the house, clang-tidy and cppcheck
lint: need-check
	@tests/lint/run

## fuzz: readers of foreign files against random input (FUZZ_SECONDS=30 for each)
fuzz: need-fuzz
	@$(MAKE) --no-print-directory -j2 $(FUZZERS)
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run

# ---------------------------------------------------------------- installing
PREFIX ?= /usr
# Debian 12 keeps units and udev's rules in /lib.
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev
SHARE = $(DESTDIR)$(PREFIX)/share
## install: programs, units, manual pages (PREFIX=/usr, DESTDIR=)
install: need-build
	@$(MAKE) --no-print-directory install-programs
	@[ -n "$(DESTDIR)" ] || cat packaging/after-install

install-programs: all
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/pathprof $(PLUGIN) $(COUNTING)
	$(if $(COUNTING_CC),install -m 755 -t $(DESTDIR)$(PREFIX)/bin $(BUILD)/bin/pathprof-cc)
	$(if $(COUNTING_CC),ln -sf pathprof-cc $(DESTDIR)$(PREFIX)/bin/pathprof-c++)
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) $(wildcard systemd/*.service)
	sed -i 's|/usr/bin/pathprof|$(PREFIX)/bin/pathprof|' $(patsubst systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard systemd/*.service))
	install -D -m 644 systemd/pathprof.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/pathprof.conf
	install -D -m 644 -t $(DESTDIR)$(UDEVDIR)/rules.d systemd/60-pathprof.rules
	@packaging/install-settings systemd/pathprofd.conf $(DESTDIR)/etc/pathprof/pathprofd.conf
	for m in docs/man/*.[1-8]; do install -D -m 644 -t $(SHARE)/man/man$${m##*.} $$m; done
	$(if $(COUNTING_CC),,rm $(SHARE)/man/man1/pathprof-cc.1)
	install -D -m 644 -t $(SHARE)/bash-completion/completions docs/completion/pathprofctl
	install -D -m 644 -t $(SHARE)/zsh/vendor-completions docs/completion/_pathprofctl
	install -D -m 644 -t $(SHARE)/fish/vendor_completions.d docs/completion/pathprofctl.fish

# The library for programs of others: pkg-config says how to link it.
LIBDIR ?= $(PREFIX)/lib
# What it promises them, and what these headers include; all others are internal.
PROMISED := code error export graph profile recording store trace
PUBLIC_HEADERS = $(shell $(CC) -Ilibprofile/include $(patsubst %,-include pathprof/%.h,$(PROMISED)) -MM -x c /dev/null | \
	grep -o 'libprofile/include/[a-z_/]*\.h' | sort -u)
## install-library: the library for programs of others
install-library: $(LIB)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/pathprof $(PUBLIC_HEADERS)
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(LIB)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' packaging/pathprof.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/pathprof.pc

## deb: Debian packages, in build/deb (docs/packaging.md)
deb: need-build
	@tools/need $(DEB_PACKAGES)
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(BUILD) packaging/deb

## dist-bin: a tarball of the programs for other distributions, in build/dist
dist-bin: need-build
	@tools/need $(DIST_PACKAGES)
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(BUILD) packaging/dist-bin

## dkms: the module's sources as DKMS takes them (DESTDIR=/; then: dkms install pathprof/VERSION)
DKMS_TREE = $(or $(DESTDIR),$(BUILD)/dkms)/usr/src/pathprof-$(VERSION)
dkms:
	rm -rf $(DKMS_TREE)
	install -d $(addprefix $(DKMS_TREE)/,kmod/probe libprofile/core libprofile/include/pathprof)
	install -m 644 kmod/Makefile kmod/Kbuild $(wildcard kmod/*.[ch]) $(DKMS_TREE)/kmod
	install -m 644 $(wildcard kmod/probe/*.c) $(DKMS_TREE)/kmod/probe
	install -m 644 $(wildcard libprofile/core/*.h) $(DKMS_TREE)/libprofile/core
	install -m 644 $(addprefix libprofile/include/pathprof/,abi.h record_abi.h kmod_abi.h) $(DKMS_TREE)/libprofile/include/pathprof
	sed 's/@VERSION@/$(VERSION)/' kmod/dkms.conf >$(DKMS_TREE)/dkms.conf

## clean: removes the build directory
clean:
	rm -rf $(BUILD)

# Kernels and their sources lie in $(BUILD)/vm*, a copy of this tree in $(BUILD)/deb, a Debian in
# $(BUILD)/systemd.
-include $(shell find $(BUILD) \( -path '$(BUILD)/vm*' -o -path '$(BUILD)/deb' -o -path '$(BUILD)/systemd' \) -prune \
	-o -type f -name '*.d' -print 2>/dev/null)
force:
.PHONY: all force help clean run run-fleet generated test check check-all check-vm check-systemd check-vm-debug check-headers \
	check-packages \
	bench dkms experiments lint fuzz deb dist-bin install install-programs install-library \
	need-build need-test need-check need-check-all need-fuzz need-vm need-systemd \
	programs-for-check programs-for-tests programs-for-bench
.DELETE_ON_ERROR:
