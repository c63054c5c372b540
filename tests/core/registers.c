// SPDX-License-Identifier: BSD-2-Clause
// A call site keeps no value in a register that others may change while it waits: more values than there are registers live
// across every kind of site, and what runs meanwhile overwrites each register.
#include <string.h>

#include <fin.h>

#include "check.h"

enum { ROUNDS = 12, AWES = 8 };

// The stack pointer, the frame pointer and the base pointer are what a site keeps. (x18 may belong to the platform; a nested
// function's static chain overwrites it where it does not.)
static __attribute__((noinline)) void trample(void) {
#if defined(__x86_64__)
#define G(r) "mov $-1, %%" r "\n\t"
#define V(n) "pcmpeqd %%xmm" n ", %%xmm" n "\n\t"
    __asm__ volatile(G("rax") G("rcx") G("rdx") G("rsi") G("rdi") G("r8") G("r9") G("r10") G("r11") : : :
                     "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
    __asm__ volatile(G("r12") G("r13") G("r14") G("r15") : : : "r12", "r13", "r14", "r15");
    __asm__ volatile(V("0") V("1") V("2") V("3") V("4") V("5") V("6") V("7") V("8") V("9") V("10") V("11") V("12") V("13")
                         V("14") V("15")
                     :
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
#define G(n) "mov x" n ", #-1\n\t"
#define V(n) "movi v" n ".2d, #-1\n\t"
    __asm__ volatile(G("0") G("1") G("2") G("3") G("4") G("5") G("6") G("7") G("8") G("9") G("10") G("11") G("12") G("13")
                         G("14") G("15") G("16") G("17")
                     :
                     :
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17");
    __asm__ volatile(G("20") G("21") G("22") G("23") G("24") G("25") G("26") G("27") G("28") : : :
                     "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28");
    __asm__ volatile(V("0") V("1") V("2") V("3") V("4") V("5") V("6") V("7") V("8") V("9") V("10") V("11") V("12") V("13")
                     V("14") V("15") : : :
                     "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15");
    __asm__ volatile(V("16") V("17") V("18") V("19") V("20") V("21") V("22") V("23") V("24") V("25") V("26") V("27") V("28")
                     V("29") V("30") V("31") : : :
                     "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                     "v31");
#endif
}

static void short_body(void *arg) {
    (void)arg;
    trample();
}
static void long_body(void *arg) {
    trample();
    fin_yield();
    short_body(arg);
}
static void yield_too(void) {
    trample();
    fin_yield();
}
static void wake(void *slot) {
    trample();
    CHECK_EQ(fin_schedule(*(struct fin_awe **)slot), 0);
}
static struct fin_awe *slot;

// A function that computes with values of one kind, each of which it needs to the end, and stops at `site` in each round; or
// calls trample() there instead. The values are small enough to be exact. `around` may be a finish block.
typedef double pair __attribute__((vector_size(16)));
#define COMPUTATION(name, type, scalar, one, around, ...)                                                             \
    static __attribute__((noinline)) type name(int seed, int waits) {                                                 \
        type a = one * (scalar)seed, b = a + one, c = b + one, d = c + one, e = d + one, f = e + one, g = f + one;    \
        type h = g + one, i = h + one, j = i + one, k = j + one, l = k + one, m = l + one, n = m + one, o = n + one;  \
        type p = o + one, q = p + one, r = q + one, s = r + one, t = s + one, u = t + one, v = u + one, w = v + one;  \
        type x = w + one, y = x + one, z = y + one, A = z + one, B = A + one, C = B + one, D = C + one, E = D + one;  \
        around {                                                                                                      \
            for (int round = 0; round < ROUNDS; round++) {                                                            \
                a += b, b -= c, c += d, d -= e, e += f, f -= g, g += h, h -= i, i += j, j -= k, k += l, l -= m;       \
                m += n, n -= o, o += p, p -= q, q += r, r -= s, s += t, t -= u, u += v, v -= w, w += x, x -= y;       \
                y += z, z -= A, A += B, B -= C, C += D, D -= E, E += a;                                               \
                if (waits) {                                                                                          \
                    __VA_ARGS__;                                                                                      \
                } else {                                                                                              \
                    trample();                                                                                        \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
        return a + b - c + d - e + f + g + h + i - j + k + l + m - n + o + p + q - r + s + t + u + v - w + x + y -    \
               z + A + B - C + D + E;                                                                                 \
    }                                                                                                                 \
    static void name##_check(void *seed) {                                                                            \
        type expected = name((int)(intptr_t)seed, 0), is = name((int)(intptr_t)seed, 1);                              \
        CHECK(memcmp(&expected, &is, sizeof is) == 0);                                                                \
    }

// Each kind of site, for each kind of values. The asyncs inside one finish block leave its owner on another stack.
#define IN_ORDER if (1)
#define SITES(M, ...)                                                                                                 \
    M(yield, __VA_ARGS__, IN_ORDER, fin_yield())                                                                      \
    M(suspend, __VA_ARGS__, IN_ORDER, fin_suspend_then(&slot, wake, &slot))                                           \
    M(below, __VA_ARGS__, IN_ORDER, yield_too())                                                                      \
    M(finish, __VA_ARGS__, IN_ORDER, fin_finish { fin_async_call(long_body, NULL); })                                 \
    M(owner, __VA_ARGS__, fin_finish, fin_async_call(long_body, NULL))                                                \
    M(owner_short, __VA_ARGS__, fin_finish, fin_async_call(short_body, NULL))                                         \
    M(owner_eager, __VA_ARGS__, fin_finish, fin_async_eager_call(long_body, NULL))                                    \
    M(owner_eager_short, __VA_ARGS__, fin_finish, fin_async_eager_call(short_body, NULL))                             \
    M(owner_body, __VA_ARGS__, fin_finish, fin_async { long_body(NULL); })                                            \
    M(owner_eager_body, __VA_ARGS__, fin_finish, fin_async_eager { long_body(NULL); })
#define DEFINE(name, kind, ...) COMPUTATION(kind##_##name, __VA_ARGS__)
#define ENTRY(name, kind, ...) kind##_##name##_check,

SITES(DEFINE, integers, unsigned long, unsigned long, 1ul)
SITES(DEFINE, doubles, double, double, 0.5)
SITES(DEFINE, pairs, pair, double, ((pair){0.5, 0.25}))

int main(void) {
    void (*checks[])(void *) = {
        SITES(ENTRY, integers, ) SITES(ENTRY, doubles, ) SITES(ENTRY, pairs, )
    };
    for (size_t n = 0; n < sizeof checks / sizeof *checks; n++) {
        fin_finish {
            for (intptr_t i = 1; i <= AWES; i++)
                fin_async_call(checks[n], (void *)i);
            for (intptr_t i = 1; i <= AWES; i++)
                fin_async_eager_call(checks[n], (void *)i);
        }
    }
    return 0;
}
