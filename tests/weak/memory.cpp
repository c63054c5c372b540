// SPDX-License-Identifier: BSD-2-Clause
#include "memory.hpp"

#include <algorithm>
#include <iterator>

namespace weak {

namespace {

enum { KEPT = 12 };                                          // messages of a location
enum { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE }; // odd: a write

bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

unsigned bytes_of(uintptr_t at, size_t size) { return ((1u << size) - 1) << (at & 7) & 0xff; }

uint64_t mask(unsigned size) { return size == 8 ? ~uint64_t{0} : (uint64_t{1} << size * 8) - 1; }

// Its bytes as they are there, past all that the compiler thinks of them.
uint64_t real(const uint64_t *word) { return *static_cast<const volatile uint64_t *>(word); }

} // namespace

void View::see(size_t location, Time t) {
    if (location >= seen.size())
        seen.resize(location + 1);
    seen[location] = std::max(seen[location], t);
}

void View::join_seen(const View &other) {
    if (seen.size() < other.seen.size())
        seen.resize(other.seen.size());
    for (size_t i = 0; i < other.seen.size(); i++)
        seen[i] = std::max(seen[i], other.seen[i]);
}

void View::join(const View &other) {
    join_seen(other);
    for (int i = 0; i < most_threads; i++)
        clock[i] = std::max(clock[i], other.clock[i]);
}

Memory::Memory(uint64_t seed) : random(seed), stale(static_cast<unsigned>(random.below(3)) * 3) {
    for (int i = 0; i < most_threads; i++)
        threads[i].now.clock[i] = 1;
}

void Memory::append(Location &l, uint64_t value, unsigned bytes, const View &view, Thread &by) {
    Time t = l.messages.empty() ? 1 : l.messages.back().time + 1;
    if (l.messages.size() == KEPT)
        l.messages.erase(l.messages.begin());
    l.messages.push_back({value, bytes, t, view});
    l.messages.back().view.see(l.number, t);
    by.now.see(l.number, t);
    by.acquired.see(l.number, t);
}

// The location, with what was written there otherwise meanwhile: by assembly or the kernel, where it was not announced.
Memory::Access Memory::reach(int thread, uintptr_t at, unsigned size) {
    auto [found, fresh] = locations.try_emplace(at & ~uintptr_t{7});
    Location &l = found->second;
    auto *word = reinterpret_cast<uint64_t *>(at & ~uintptr_t{7});
    if (fresh) {
        l.number = numbers++;
        l.messages.push_back({real(word), 0xff, 0, {}});
    } else if (l.open) {
        l.messages.back().value = real(word);
    } else if (l.messages.back().value != real(word)) {
        append(l, real(word), 0xff, threads[thread].released, threads[thread]);
    }
    l.open = false;
    return {threads[thread], l, word, static_cast<unsigned>(at & 7) * 8, size, thread};
}

const Memory::Message &Memory::choose(const Access &a, int order) {
    auto &all = a.location.messages;
    Time oldest = a.thread.now.at(a.location.number);
    if (order == __ATOMIC_SEQ_CST)
        oldest = std::max(oldest, agreed.at(a.location.number));
    auto first = std::find_if(all.begin(), all.end(), [&](const Message &m) { return m.time >= oldest; });
    auto n = static_cast<uint64_t>(all.end() - first);
    return n == 1 || random.below(8) >= stale ? all.back() : first[static_cast<std::ptrdiff_t>(random.below(n))];
}

const View &Memory::told(const Access &a, const Message &m) {
    static const View nothing;
    unsigned bytes = bytes_of(a.shift / 8, a.size);
    for (const Message *by = &m;; by--) {
        if (by->bytes & bytes)
            return by->view;
        if (by == a.location.messages.data())
            return nothing;
    }
}

uint64_t Memory::read(const Access &a, int order, const Message &m) {
    const View view = told(a, m);
    a.thread.now.see(a.location.number, m.time);
    a.thread.acquired.join(view);
    if (acquires(order))
        a.thread.now.join(view);
    return m.value >> a.shift & mask(a.size);
}

// `read`: the view of the message that is updated, whose release goes on with this one.
void Memory::write(const Access &a, int order, uint64_t value, const View *read) {
    Thread &t = a.thread;
    uint64_t m = mask(a.size) << a.shift, word = (last(a).value & ~m) | (value << a.shift & m);
    View view = releases(order) ? t.now : t.released;
    if (read)
        view.join(*read);
    append(a.location, word, bytes_of(a.shift / 8, a.size), view, t);
    *static_cast<volatile uint64_t *>(a.word) = word;
    if (order == __ATOMIC_SEQ_CST)
        agreed.see(a.location.number, last(a).time);
    if (releases(order))
        t.now.clock[a.who]++;
}

uint64_t Memory::load(int thread, uintptr_t at, unsigned size, int order) {
    Access a = reach(thread, at, size);
    return read(a, order, choose(a, order));
}

void Memory::store(int thread, uintptr_t at, unsigned size, int order, uint64_t value) {
    write(reach(thread, at, size), order, value, nullptr);
}

bool Memory::exchange_if(int thread, uintptr_t at, unsigned size, int order, int failed, uint64_t &expected, uint64_t wanted,
                         bool may_fail) {
    Access a = reach(thread, at, size);
    const Message *m = &choose(a, failed);
    auto value = [&] { return m->value >> a.shift & mask(size); };
    bool none = may_fail && random.below(16) == 0; // for no reason, as a weak one may
    if (value() == expected && !none)
        m = &last(a);
    if (value() != expected || none) {
        expected = read(a, failed, *m);
        return false;
    }
    View old = told(a, *m);
    read(a, order, *m);
    write(a, order, wanted, &old);
    return true;
}

void Memory::fence(int thread, int order) {
    Thread &t = threads[thread];
    if (acquires(order))
        t.now.join(t.acquired);
    if (order == __ATOMIC_SEQ_CST) {
        t.now.join_seen(agreed);
        agreed.join_seen(t.now);
    }
    if (releases(order)) {
        t.released = t.now;
        t.now.clock[thread]++;
    }
    t.acquired.join(t.now);
}

void Memory::fence_everywhere(int thread) {
    fence(thread, __ATOMIC_SEQ_CST);
    for (int i = 0; i < most_threads; i++)
        fence(i, __ATOMIC_SEQ_CST);
    fence(thread, __ATOMIC_SEQ_CST);
}

// By who had a byte last, and how: the time up to which that has happened before, or what all times are below where it
// does not matter: the thread's own, and what both only read, or do atomically.
Memory::Last Memory::limits(int thread, int kind) const {
    const View &now = threads[thread].now;
    Last limits;
    for (int k = 0; k < 4; k++) {
        bool write = kind % 2 == PLAIN_WRITE || k % 2 == PLAIN_WRITE, plain = kind < ATOMIC_READ || k < ATOMIC_READ;
        for (int t = 0; t < most_threads; t++)
            limits.when[k * most_threads + t] = write && plain && t != thread ? now.clock[t] : ~Time{0};
    }
    return limits;
}

// Most of the time goes here: there is no branch, so that the compiler takes several at once.
bool Memory::unordered(const Last &last, const Last &limits) {
    unsigned found = 0;
    for (size_t i = 0; i < last.when.size(); i++)
        found |= last.when[i] > limits.when[i];
    return found;
}

const char *Memory::note(int thread, uintptr_t at, size_t size, int kind) {
    const Last limits = this->limits(thread, kind);
    bool race = false;
    for (uintptr_t i = at; i < at + size;) {
        auto &word = lasts[i / 8];
        for (uintptr_t end = std::min((i | 7) + 1, at + size); i < end; i++) {
            race |= unordered(word[i % 8], limits);
            word[i % 8].when[static_cast<size_t>(kind * most_threads + thread)] = threads[thread].now.clock[thread];
        }
    }
    return !race                     ? nullptr
           : kind % 2 == PLAIN_WRITE ? "a data race: writes what another thread may be using"
                                     : "a data race: reads what another thread may be writing";
}

const char *Memory::gone(int thread, uintptr_t at, size_t size) {
    const Last limits = this->limits(thread, PLAIN_WRITE);
    bool race = false;
    for (auto i = lasts.begin(); i != lasts.end();) {
        bool in = i->first * 8 >= at && i->first * 8 < at + size;
        for (const Last &l : i->second)
            race |= in && unordered(l, limits);
        i = in ? lasts.erase(i) : std::next(i);
    }
    for (auto i = locations.begin(); i != locations.end();)
        i = i->first >= at && i->first < at + size ? locations.erase(i) : std::next(i);
    return race ? "a data race: gives back what another thread may be using" : nullptr;
}

const char *Memory::plain(int thread, uintptr_t at, size_t size, bool writes) {
    if (writes)
        for (uintptr_t w = at & ~uintptr_t{7}; w < at + size; w += 8) {
            uintptr_t first = std::max(at, w), end = std::min(at + size, w + 8);
            unsigned bytes = bytes_of(first, end - first);
            auto found = locations.find(w);
            if (found == locations.end())
                continue;
            if (found->second.open)
                found->second.messages.back().value = real(reinterpret_cast<uint64_t *>(w));
            append(found->second, 0, bytes, threads[thread].released, threads[thread]);
            found->second.open = true;
        }
    return note(thread, at, size, writes ? PLAIN_WRITE : PLAIN_READ);
}

const char *Memory::atomic_race(int thread, uintptr_t at, unsigned size, bool writes) {
    return note(thread, at, size, writes ? ATOMIC_WRITE : ATOMIC_READ);
}

} // namespace weak
