// SPDX-License-Identifier: BSD-2-Clause
// The streams of messages of classes_everything.cpp, from AWEs of one or several threads to others, in all forms in which
// the classes send and receive; and clients of a listener.
#ifndef FIN_TESTS_CLASSES_EVERYTHING_HPP
#define FIN_TESTS_CLASSES_EVERYTHING_HPP

#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "danger.hpp"

enum { SENDERS = 6, SEQUENCE = 1000, LONGEST = 200 };

struct item {
    int what, next;
};
inline std::vector<int> items(int what) {
    std::vector<int> v(chance(4) ? 1 + below(LONGEST) : 1 + below(6));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = what + static_cast<int>(i);
    return v;
}

struct stream {
    fin::chan in, out;
    std::atomic<int> senders;
    std::atomic<long> sent = 0, received = 0, sent_sum = 0, received_sum = 0;
    std::atomic<bool> over = false;
    bool one_receiver;
    int last[SENDERS] = {};

    stream(int senders, bool one, const fin_chan_options &how) : senders(senders), one_receiver(one) {
        std::tie(in, out) = fin::chan::pair(how);
    }
    void was_sent(int what) {
        sent++;
        sent_sum += what;
    }
    // A message, all of it.
    void was_received(const int *ints, size_t size) {
        CHECK(size >= sizeof *ints && size % sizeof *ints == 0);
        int what = ints[0];
        for (size_t i = 1; i < size / sizeof *ints; i++)
            CHECK_EQ(ints[i], what + static_cast<int>(i));
        received++;
        received_sum += what;
        if (!one_receiver)
            return;
        int &before = last[what / SEQUENCE];
        CHECK(what > before);
        before = what;
    }
    void is_through() {
        if (--senders > 0)
            return;
        over = true;
        fin::chan ends;
        if (chance(2))
            ends = std::move(in);
        else
            in = fin::chan();
    }
    void check() {
        item i;
        CHECK(!in);
        CHECK_EQ(out.try_recv(i), -ESHUTDOWN);
        CHECK_EQ(sent, received);
        CHECK_EQ(sent_sum, received_sum);
    }
};

// What a send said: is the message sent?
inline bool sent(stream &s, int r, int what, bool could_wait) {
    CHECK_OF(r, r == 0 || (r == -ECANCELED && could_wait && !calm) || (r == -EAGAIN && !could_wait));
    if (r == 0)
        s.was_sent(what);
    return r == 0;
}

inline int sends_in_place(stream &s, int what) {
    auto v = items(what);
    size_t size = v.size() * sizeof v[0], more = below(100);
    fin::chan_room room(s.in, size + more);
    CHECK_EQ(!room, room.error() != 0);
    if (!room)
        return room.error();
    CHECK(room.data());
    memcpy(room.data(), v.data(), size);
    if (chance(3))
        pause_here(); // others wait
    may_throw(what, 6); // it is given up
    if (chance(8))
        CHECK_EQ(room.commit(size + more + 1), -EINVAL);
    int r = room.commit(size);
    CHECK(!room || r == -EINVAL);
    return r;
}

inline bool send_once(stream &s, int what) {
    bool over = false;
    throws_of(what, [&] {
        in_danger([&] {
            unsigned form = below(8);
            int r = form < 2   ? s.in.send(item{what, what + 1})
                    : form < 4 ? s.in.send(items(what))
                    : form < 6 ? sends_in_place(s, what)
                    : form < 7 ? s.in.try_send(items(what))
                               : s.in.send_nc(items(what));
            over = sent(s, r, what, form < 6);
        });
    });
    return over;
}
inline fin::task<> send_form(stream &s, int what, bool &over) {
    int r;
    if (chance(2))
        r = co_await co::send(s.in, item{what, what + 1});
    else
        r = co_await co::send(s.in, items(what));
    over = sent(s, r, what, true);
}

inline int number_of(int me, int i) { return me * SEQUENCE + i + 1; }

inline void sends(stream &s, int me, int n) {
    for (int i = 0; i < n; i++) {
        while (!send_once(s, number_of(me, i)))
            pause_here();
        pause_here();
    }
    s.is_through();
}
inline fin::task<> sends_co(stream &s, int me, int n) {
    for (int i = 0; i < n; i++)
        for (bool over = false; !over;) {
            co_await in_danger_co(send_form(s, number_of(me, i), over));
            if (chance(2))
                co_await co::yield();
        }
    s.is_through();
}

// What a receive of an object said: is it the end?
inline bool got_object(stream &s, int r, const item &i, bool could_wait, bool wild) {
    CHECK_OF(r, r == 0 || r == -EBADMSG || r == -EMSGSIZE || (r == -ECANCELED && could_wait && wild) ||
          (r == -EAGAIN && !could_wait) || (r == -ESHUTDOWN && s.over));
    if (r == 0)
        s.was_received(&i.what, sizeof i);
    if (r == -EBADMSG)
        s.was_received(&i.what, sizeof i.what); // that much of it is there
    return r == -ESHUTDOWN;
}
inline bool got_bytes(stream &s, ssize_t r, const void *bytes, bool could_wait, bool wild) {
    CHECK(r >= 0 || (r == -ECANCELED && could_wait && wild) || (r == -EAGAIN && !could_wait) ||
          (r == -ESHUTDOWN && s.over));
    if (r >= 0)
        s.was_received(static_cast<const int *>(bytes), static_cast<size_t>(r));
    return r == -ESHUTDOWN;
}

inline bool reads_in_place(stream &s, bool wild) {
    fin::chan_message m(s.out);
    CHECK_EQ(!m, m.error() != 0);
    if (!m)
        return got_bytes(s, m.error(), nullptr, true, wild);
    CHECK_EQ(m.text().size(), m.size());
    if (chance(3))
        pause_here();
    may_throw(static_cast<const int *>(m.data())[0], 6); // it is taken, and lost if nobody notes it
    return got_bytes(s, static_cast<ssize_t>(m.size()), m.data(), true, wild);
}
inline bool receive_once(stream &s, bool wild) {
    bool over = false;
    int bytes[LONGEST];
    item i{};
    auto op = [&] {
        switch (below(wild ? 6 : 4)) {
        case 0:
            over = got_bytes(s, s.out.recv(bytes, sizeof bytes), bytes, true, wild);
            break;
        case 1:
            over = got_object(s, s.out.recv(i), i, true, wild);
            break;
        case 2:
            try {
                over = reads_in_place(s, wild);
            } catch (const thrown &t) {
                s.received++;
                s.received_sum += t.of;
            }
            break;
        case 3:
            over = got_object(s, s.out.recv_nc(i), i, false, wild);
            break;
        case 4:
            over = got_object(s, s.out.try_recv(i), i, false, wild);
            break;
        default:
            over = got_bytes(s, s.out.try_recv(bytes, sizeof bytes), bytes, false, wild);
        }
    };
    if (wild)
        in_danger(op);
    else
        op();
    return over;
}
inline void receives(stream &s) {
    for (bool over = false; !over;) {
        over = receive_once(s, !calm && !s.over);
        pause_here();
    }
}

inline fin::task<> receive_form(stream &s, bool wild, bool &over) {
    int bytes[LONGEST];
    item i{};
    if (chance(2)) {
        int r = co_await co::recv(s.out, bytes, sizeof bytes);
        over = got_bytes(s, r, bytes, true, wild);
    } else {
        int r = co_await co::recv(s.out, i);
        over = got_object(s, r, i, true, wild);
    }
}
inline fin::task<> receives_co(stream &s) {
    for (bool over = false; !over;) {
        bool wild = !calm && !s.over;
        auto op = receive_form(s, wild, over);
        if (wild)
            co_await in_danger_co(std::move(op));
        else
            co_await std::move(op);
        if (chance(3))
            co_await co::yield();
    }
}

// ---- a listener: each client is answered

struct house {
    std::string name;
    fin::chan_listener door;
    std::atomic<int> clients;
    fin_event through = FIN_EVENT_INIT;
    std::atomic<int> answered = 0, asked = 0;
    house(const std::string &name, int clients, const fin_chan_options &how)
        : name(name), door(name, how), clients(clients) {}
};

inline void answers(house &h, fin::chan &c) {
    item i;
    int r = c.recv_nc(i);
    CHECK_OF(r, r == 0 || r == -ESHUTDOWN || (r == -ECONNRESET && !calm)); // who threw, or was cancelled, is gone
    if (r != 0)
        return;
    h.answered++;
    r = c.send_nc(item{i.next, i.what});
    CHECK_OF(r, r == 0 || (r == -EPIPE && !calm));
}
inline bool is_over(const house &h) { return h.clients == 0; }

// Until it is cancelled. What it has accepted before is closed by the next, or by its end.
inline void accepts(house &h) {
    fin::chan c;
    while (!is_over(h) && !fin_cancelled())
        in_danger([&] {
            int r = h.door.accept(c);
            CHECK_OF(r, r == 0 || r == -ECANCELED);
            if (r == 0)
                answers(h, c);
        });
}
inline fin::task<> accept_form(house &h, fin::chan &c) {
    int r = co_await co::accept(h.door, c);
    CHECK_OF(r, r == 0 || r == -ECANCELED);
    auto body = [&] { answers(h, c); };
    if (r == 0)
        co_await co::with_stack(body);
}
inline fin::task<> accepts_co(house &h) {
    fin::chan c;
    while (!is_over(h) && !fin_cancelled())
        co_await in_danger_co(accept_form(h, c));
}

inline void visits(house &h) {
    for (bool over = false; !over;) {
        brittle b;
        try {
            throws_of(b.what(), [&] {
                in_danger([&] {
                    fin::chan c(h.name);
                    may_throw(b.what());
                    item i{b.what(), b.what() + 1}, back{};
                    int r = c.send_recv(i, back);
                    CHECK_OF(r, r == 0 || (r == -ECANCELED && !calm));
                    if (r != 0)
                        return;
                    h.asked++;
                    CHECK(back.what == i.next && back.next == i.what);
                    over = true;
                });
            });
        } catch (const std::system_error &e) {
            CHECK(e.code() == std::errc::operation_canceled && !calm);
        }
    }
    if (--h.clients == 0)
        fin_event_advance(&h.through, 1);
}

#endif
