// SPDX-License-Identifier: BSD-2-Clause
// Memory as C11 has it and no processor in the machine does: what one thread has stored another may see late, in any order
// that the orders of the accesses leave open. An operational form of it, by views (Kang and others, POPL 2017, without
// promises): a location has all messages that were stored there, one behind the other; each thread has a view, which says
// of each location which is the oldest that it may still read; a message has the view of who stored it, as far as it was a
// release, and who reads it as an acquire joins that to its own. A load chooses at random.
//
// More is possible here than on x86, and more than on aarch64, but for one thing: a load does not take place after a store
// that follows it. Of accesses that are not atomic it is noted which thread had last which, and whether the next one is
// ordered behind that: where it is not it is a data race, as TSan has them, but also when the race needs another processor.
//
// A location is eight aligned bytes: of smaller ones in it all stores come in one order, which is more than there need be.
#ifndef FIN_TESTS_WEAK_MEMORY_HPP
#define FIN_TESTS_WEAK_MEMORY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weak {

constexpr int most_threads = 4;
using Time = uint32_t;

class Random {
public:
    explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
    uint64_t next() { // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 0x2545f4914f6cdd1du >> 16;
    }
    uint64_t below(uint64_t n) { return next() % n; }

private:
    uint64_t state;
};

struct View {
    std::vector<Time> seen;                 // of each location
    std::array<Time, most_threads> clock{}; // of each thread: what it did up to then happened before

    Time at(size_t location) const { return location < seen.size() ? seen[location] : 0; }
    void see(size_t location, Time t);
    void join_seen(const View &other);
    void join(const View &other);
};

class Memory {
public:
    explicit Memory(uint64_t seed);

    uint64_t load(int thread, uintptr_t at, unsigned size, int order);
    void store(int thread, uintptr_t at, unsigned size, int order, uint64_t value);
    template <class Change> uint64_t update(int thread, uintptr_t at, unsigned size, int order, Change change) {
        Access a = reach(thread, at, size);
        uint64_t old = read(a, order, last(a));
        write(a, order, change(old), &told(a, last(a)));
        return old;
    }
    bool exchange_if(int thread, uintptr_t at, unsigned size, int order, int failed, uint64_t &expected, uint64_t wanted,
                     bool may_fail);
    void fence(int thread, int order);
    void fence_everywhere(int thread);                                     // membarrier(2)
    const char *plain(int thread, uintptr_t at, size_t size, bool writes); // what is wrong, or NULL
    const char *gone(int thread, uintptr_t at, size_t size);               // the memory is given back
    const char *atomic_race(int thread, uintptr_t at, unsigned size, bool writes);

private:
    struct Message {
        uint64_t value;
        unsigned bytes; // which of the eight it stored, a bit each
        Time time;
        View view;
    };
    struct Location {
        size_t number;
        std::vector<Message> messages;
        bool open = false; // the last message is a store that is not atomic: when it was announced its value was not known
    };
    struct Thread {
        View now, acquired, released; // acquired: what an acquire fence would add. released: what a relaxed store tells
    };
    struct Access {
        Thread &thread;
        Location &location;
        uint64_t *word;
        unsigned shift, size;
        int who;
    };
    // Who had this byte last, and when: each thread plainly or atomically, to read or to write.
    struct Last {
        std::array<Time, most_threads * 4> when{};
    };

    Access reach(int thread, uintptr_t at, unsigned size);
    void append(Location &l, uint64_t value, unsigned bytes, const View &view, Thread &by);
    Message &last(const Access &a) { return a.location.messages.back(); }
    const Message &choose(const Access &a, int order);
    const View &told(const Access &a, const Message &m); // by who stored what is read there
    uint64_t read(const Access &a, int order, const Message &m);
    void write(const Access &a, int order, uint64_t value, const View *read);
    const char *note(int thread, uintptr_t at, size_t size, int kind);
    Last limits(int thread, int kind) const;
    static bool unordered(const Last &last, const Last &limits);

    Random random;
    unsigned stale; // of 8 loads, how many choose among all messages
    std::array<Thread, most_threads> threads;
    View agreed; // what accesses and fences in the one order of all sequentially consistent ones have told
    size_t numbers = 0;
    std::unordered_map<uintptr_t, Location> locations;
    std::unordered_map<uintptr_t, std::array<Last, 8>> lasts; // of each word
};

} // namespace weak

#endif
