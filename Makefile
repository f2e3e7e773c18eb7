# SPDX-License-Identifier: GPL-2.0-or-later
# The only makefile. `make run` and `make check` need nothing before them on a fresh Debian 12.

BUILD := build
CC ?= gcc
CLANG ?= clang
CSTD := -std=gnu11
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wno-unused-parameter
OPT ?= -O2 -g
CPPFLAGS := -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -Ilibprofile/include
CFLAGS := $(CSTD) $(OPT) $(WARN) -fstack-protector-strong -fPIE
LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS := -ldw -lelf -lZydis -lsqlite3 -lsystemd -ljansson -linih -lpfm -lbpf -lncursesw -ltinfo -lm
SAN := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

VERSION := 0.1.0
CPPFLAGS += -DPATHPROF_VERSION='"$(VERSION)"'

LIB_SRC := $(wildcard libprofile/src/*.c libprofile/src/*/*.c)
DAEMON_SRC := $(filter-out daemon/main.c,$(wildcard daemon/*.c))
CTL_SRC := $(wildcard tools/ctl/*.c)
LAB_SRC := $(wildcard tools/lab/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
SCHEMA := $(sort $(wildcard schema/sqlite/*.sql))

obj = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))

PROGRAMS := $(BUILD)/bin/pathprof-lab $(BUILD)/bin/pathprofd $(BUILD)/bin/pathprofctl

all: $(PROGRAMS)

# ---------------------------------------------------------------- objects
# Two builds of everything: obj, and san (address and undefined-behaviour sanitizers).
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CFLAGS) $(SAN) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/san/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -U_FORTIFY_SOURCE -c -o $@ $<

# The migrations travel inside the programs: one string a file, in order of name.
$(BUILD)/gen/schema.c: $(SCHEMA)
	@mkdir -p $(@D)
	{ echo '#include <stddef.h>'; echo '#include "pathprof/schema.h"'; \
	  echo 'const char *const pathprof_schema_sqlite[] = {'; \
	  for f in $(SCHEMA); do \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $$f; echo ,; done; \
	  echo 'NULL};'; } > $@

LIB := $(BUILD)/libpathprof.a
LIB_SAN := $(BUILD)/libpathprof-san.a
$(LIB): $(call obj,obj,$(LIB_SRC)) $(BUILD)/obj/schema.o
	rm -f $@; $(AR) rcs $@ $^
$(LIB_SAN): $(call obj,san,$(LIB_SRC)) $(BUILD)/san/schema.o
	rm -f $@; $(AR) rcs $@ $^

link = @mkdir -p $(@D); $(CC) $(CFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)

$(BUILD)/bin/pathprof-lab: $(call obj,obj,$(LAB_SRC)) $(LIB)
	$(call link)
$(BUILD)/bin/pathprofd: $(call obj,obj,$(DAEMON_SRC) daemon/main.c) $(LIB)
	$(call link)
$(BUILD)/bin/pathprofctl: $(call obj,obj,$(CTL_SRC)) $(LIB)
	$(call link)

# ---------------------------------------------------------------- tests
$(BUILD)/tests/unit: $(call obj,obj,$(UNIT_SRC) $(DAEMON_SRC)) $(LIB)
	$(call link) -lcunit
$(BUILD)/tests/unit-san: $(call obj,san,$(UNIT_SRC) $(DAEMON_SRC)) $(LIB_SAN)
	$(call link,$(SAN)) -lcunit

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

clean:
	rm -rf $(BUILD)
.PHONY: all clean run check check-vm bench lint fuzz install deb dkms
.DELETE_ON_ERROR:
