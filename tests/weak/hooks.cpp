// SPDX-License-Identifier: BSD-2-Clause
// What compilers call for -fsanitize=thread, so that the library itself is what runs here, and not a copy of it in another
// language. TSan's own functions are not linked.
#include "hooks.hpp"

#include <malloc.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "threads.hpp"

extern const char __executable_start[];

namespace weak {

bool inside;

namespace {

const char *weakened;
struct Site {
    int order;
    uint64_t passed;
};
std::map<const char *, Site> sites;

int order_at(const void *where, int order) {
    auto *at = static_cast<const char *>(where);
    if (order != __ATOMIC_RELAXED) {
        Inside now;
        Site &s = sites.try_emplace(at, Site{order, 0}).first->second;
        s.passed++;
    }
    return at == weakened ? __ATOMIC_RELAXED : order;
}

void plain(const volatile void *at, size_t size, bool writes, const void *where) {
    if (self < 0 || inside)
        return;
    Inside now;
    const char *race = memory->plain(self, reinterpret_cast<uintptr_t>(at), size, writes);
    if (race)
        fail(race, where);
}

// Does the thread that looks find nothing new since it looked there last?
bool looks_again(const volatile void *at, bool writes) {
    static uint64_t stores;
    static struct {
        const volatile void *at;
        uint64_t stores;
    } before[most_threads];
    stores += writes;
    bool again = !writes && before[self].at == at && before[self].stores == stores;
    before[self] = {at, stores};
    return again;
}

bool begins(const volatile void *at, unsigned size, bool writes, const void *where) {
    if (self < 0)
        return false;
    step(looks_again(at, writes));
    Inside now;
    const char *race = memory->atomic_race(self, reinterpret_cast<uintptr_t>(at), size, writes);
    if (race)
        fail(race, where);
    return true;
}

uintptr_t address(const volatile void *p) { return reinterpret_cast<uintptr_t>(p); }

} // namespace

void weaken(uint64_t offset) { weakened = offset ? __executable_start + offset : nullptr; }

void list_sites() {
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    for (auto &[at, site] : sites)
        printf("0x%tx %s %llu\n", at - __executable_start, names[site.order], static_cast<unsigned long long>(site.passed));
}

} // namespace weak

using namespace weak;

#define HERE __builtin_extract_return_addr(__builtin_return_address(0))
#define HOOK extern "C" __attribute__((visibility("default")))

#define PLAIN(size)                                                                                                         \
    HOOK void __tsan_read##size(void *p) { plain(p, size, false, HERE); }                                                   \
    HOOK void __tsan_write##size(void *p) { plain(p, size, true, HERE); }                                                   \
    HOOK void __tsan_volatile_read##size(void *p) { plain(p, size, false, HERE); }                                          \
    HOOK void __tsan_volatile_write##size(void *p) { plain(p, size, true, HERE); }                                          \
    HOOK void __tsan_unaligned_read##size(void *p) { plain(p, size, false, HERE); }                                         \
    HOOK void __tsan_unaligned_write##size(void *p) { plain(p, size, true, HERE); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
HOOK void __tsan_read_range(void *p, size_t n) { plain(p, n, false, HERE); }
HOOK void __tsan_write_range(void *p, size_t n) { plain(p, n, true, HERE); }
HOOK void __tsan_func_entry(void *) {}
HOOK void __tsan_func_exit(void) {}
HOOK void __tsan_init(void) {}

#define UPDATE(bits, name, builtin, expression)                                                                             \
    HOOK uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t x, int order) {             \
        order = order_at(HERE, order);                                                                                      \
        if (!begins(p, bits / 8, true, HERE))                                                                               \
            return builtin(p, x, __ATOMIC_SEQ_CST);                                                                         \
        Inside now;                                                                                                         \
        auto change = [&]([[maybe_unused]] uint64_t old) -> uint64_t { return expression; };                                \
        return static_cast<uint##bits##_t>(memory->update(self, address(p), bits / 8, order, change));                      \
    }
#define EXCHANGE_IF(bits, name, may_fail)                                                                                   \
    HOOK int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *p, uint##bits##_t *expected,            \
                                                           uint##bits##_t x, int order, int failed) {                       \
        order = order_at(HERE, order);                                                                                      \
        if (order == __ATOMIC_RELAXED)                                                                                      \
            failed = order;                                                                                                 \
        if (!begins(p, bits / 8, true, HERE))                                                                               \
            return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
        Inside now;                                                                                                         \
        uint64_t e = *expected;                                                                                             \
        bool is = memory->exchange_if(self, address(p), bits / 8, order, failed, e, x, may_fail);                           \
        *expected = static_cast<uint##bits##_t>(e);                                                                         \
        return is;                                                                                                          \
    }
#define ATOMIC(bits)                                                                                                        \
    HOOK uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order) {                           \
        order = order_at(HERE, order);                                                                                      \
        if (!begins(p, bits / 8, false, HERE))                                                                              \
            return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                    \
        Inside now;                                                                                                         \
        return static_cast<uint##bits##_t>(memory->load(self, address(p), bits / 8, order));                                \
    }                                                                                                                       \
    HOOK void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t x, int order) {                        \
        order = order_at(HERE, order);                                                                                      \
        if (!begins(p, bits / 8, true, HERE))                                                                               \
            return __atomic_store_n(p, x, __ATOMIC_SEQ_CST);                                                                \
        Inside now;                                                                                                         \
        memory->store(self, address(p), bits / 8, order, x);                                                                \
    }                                                                                                                       \
    UPDATE(bits, exchange, __atomic_exchange_n, x)                                                                          \
    UPDATE(bits, fetch_add, __atomic_fetch_add, old + x)                                                                    \
    UPDATE(bits, fetch_sub, __atomic_fetch_sub, old - x)                                                                    \
    UPDATE(bits, fetch_or, __atomic_fetch_or, old | x)                                                                      \
    UPDATE(bits, fetch_and, __atomic_fetch_and, old &x)                                                                     \
    EXCHANGE_IF(bits, strong, false)                                                                                        \
    EXCHANGE_IF(bits, weak, true)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

HOOK void __tsan_atomic_thread_fence(int order) {
    order = order_at(HERE, order);
    if (self < 0)
        return;
    step();
    Inside now;
    if (order != __ATOMIC_RELAXED)
        memory->fence(self, order);
}
HOOK void __tsan_atomic_signal_fence(int) {}

static void gone(void *p, size_t n) {
    if (self < 0 || inside || !p)
        return;
    Inside now;
    const char *race = memory->gone(self, address(p), n);
    if (race)
        fail(race, nullptr);
}

extern "C" void __real_free(void *p);
HOOK void __wrap_free(void *p) {
    gone(p, malloc_usable_size(p));
    __real_free(p);
}
extern "C" int __real_munmap(void *p, size_t n);
HOOK int __wrap_munmap(void *p, size_t n) {
    gone(p, n);
    return __real_munmap(p, n);
}

// Calls that compilers leave as they are, and Clang's names for them.
#define COPIES(name)                                                                                                        \
    extern "C" void *__real_##name(void *to, const void *from, size_t n);                                                   \
    HOOK void *__wrap_##name(void *to, const void *from, size_t n) {                                                        \
        if (n > 0) {                                                                                                        \
            plain(from, n, false, HERE);                                                                                    \
            plain(to, n, true, HERE);                                                                                       \
        }                                                                                                                   \
        return __real_##name(to, from, n);                                                                                  \
    }                                                                                                                       \
    HOOK void *__tsan_##name(void *to, const void *from, size_t n) { return __wrap_##name(to, from, n); }
COPIES(memcpy)
COPIES(memmove)
extern "C" void *__real_memset(void *to, int value, size_t n);
HOOK void *__wrap_memset(void *to, int value, size_t n) {
    if (n > 0)
        plain(to, n, true, HERE);
    return __real_memset(to, value, n);
}
HOOK void *__tsan_memset(void *to, int value, size_t n) { return __wrap_memset(to, value, n); }
