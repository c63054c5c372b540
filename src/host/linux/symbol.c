// SPDX-License-Identifier: BSD-2-Clause
// The dynamic linker knows the names of what is exported only: the rest is in the symbol table of the file.
#define _GNU_SOURCE
#include "host/linux/symbol.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host.h"
#include "host/linux/cxx_name.h"

struct file {
    const char *start;
    size_t size;
};

static const void *part(const struct file *f, uint64_t offset, uint64_t size) {
    return offset <= f->size && size <= f->size - offset ? f->start + offset : NULL;
}

static const char *in_table(const struct file *f, const ElfW(Shdr) *table, const ElfW(Shdr) *strings, uintptr_t at) {
    const ElfW(Sym) *s = part(f, table->sh_offset, table->sh_size);
    const char *names = part(f, strings->sh_offset, strings->sh_size);
    if (!s || !names || strings->sh_size == 0 || names[strings->sh_size - 1] != 0)
        return NULL;
    for (size_t n = table->sh_size / sizeof *s; n-- > 0; s++)
        if ((s->st_info & 0xf) == STT_FUNC && at - s->st_value < s->st_size && s->st_name < strings->sh_size)
            return names + s->st_name;
    return NULL;
}

static const ElfW(Ehdr) *header(const struct file *f) {
    const ElfW(Ehdr) *e = part(f, 0, sizeof *e);
    return e && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 ? e : NULL;
}

// What addresses in a file are less than in memory, where its first page, in which its headers are, is at `base`.
static uintptr_t moved_by(const void *base) {
    size_t page = fin_host_page_size();
    const struct file first_page = {base, page};
    const ElfW(Ehdr) *e = header(&first_page);
    const ElfW(Phdr) *p = e ? part(&first_page, e->e_phoff, (uint64_t)e->e_phnum * sizeof *p) : NULL;
    if (p && e->e_type == ET_EXEC)
        return 0;
    for (int i = 0; p && i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD)
            return (uintptr_t)base - (p[i].p_vaddr & ~((uintptr_t)page - 1));
    return (uintptr_t)base;
}

static const char *in_file(const struct file *f, uintptr_t at) {
    const ElfW(Ehdr) *e = header(f);
    if (!e || e->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    const ElfW(Shdr) *sections = part(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *sections);
    for (int i = 0; sections && i < e->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < e->e_shnum)
            return in_table(f, &sections[i], &sections[sections[i].sh_link], at);
    return NULL;
}

// The program itself may have been started by a name that no longer leads to it.
static const char *path_of(const Dl_info *d) {
    const ElfW(Ehdr) *e = d->dli_fbase;
    bool program = (uintptr_t)e + e->e_phoff == getauxval(AT_PHDR);
    return program ? "/proc/self/exe" : d->dli_fname;
}

static bool from_file(const Dl_info *d, uintptr_t at, char *buffer, size_t size) {
    struct stat s;
    struct file f;
    const char *name = NULL;
    int fd = open(path_of(d), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &s) == 0 && s.st_size > 0) {
        f.size = (size_t)s.st_size;
        f.start = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (f.start != MAP_FAILED) {
            name = in_file(&f, at);
            if (name && !fin_cxx_name(name, buffer, size)) // without what compilers make of it: .cold, .part.0, .lto_priv.0
                snprintf(buffer, size, "%.*s", (int)strcspn(name, "."), name);
            munmap((void *)f.start, f.size);
        }
    }
    close(fd);
    return name != NULL;
}

const char *fin_symbol_at(const void *ip, char *buffer, size_t size) {
    Dl_info d;
    if (!dladdr(ip, &d) || !d.dli_fname) {
        snprintf(buffer, size, "%p", ip);
        return buffer;
    }
    uintptr_t at = (uintptr_t)ip - moved_by(d.dli_fbase);
    if (from_file(&d, at, buffer, size) || (d.dli_sname && fin_cxx_name(d.dli_sname, buffer, size)))
        return buffer;
    if (d.dli_sname)
        snprintf(buffer, size, "%s", d.dli_sname);
    else
        snprintf(buffer, size, "%s+%#zx", d.dli_fname, (size_t)at);
    return buffer;
}
