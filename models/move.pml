// SPDX-License-Identifier: BSD-2-Clause
// A channel is moved from one waitset to another and back, while an AWE waits in each, its other side sends, and a handler may
// be running: fin_waitset_move.
//
// It stands for: enter, leave, transfer, fin_waitset_move, fin_waitset_return (src/chan/waitset.c); arm, fin_waitset_place,
// fin_waitset_hear, fin_waitset_find, fin_waitset_release, fin_waitset_rung, sleep_in, fin_waitset_given_back, fin_waitset_call
// (src/chan/groups.c, dispatch.c).
//
// The channel is one within the process, whose sender rings by fin_waitset_rung, or one between processes: then a ring is a
// packet in its socket, which the epolls that watch it tell once. A set has an epoll from its first such channel on; who waits
// in it then leads. The channel's own latch is `own`. Who waits is alone in its set: waitset.pml has several, and cancellation.
// The sender may ring once for nothing, as for a skip.
//
// Never: a message stays although both wait (an invalid end state); two handlers of the channel run at once; the channel is on
// a list of a set that it is not in.
//
// WRONG 1 it is not looked for what came before the move
// WRONG 2 who calls its handler does not hear of the move, and gives it back to the old set
// WRONG 3 the sender finds the set without the channel's own latch
// WRONG 4 the move has only the latch of the set that it leaves
// WRONG 5 those who sleep in the new set are not woken
// WRONG 6 a follower is not made the leader when its set gets an epoll
// WRONG 7 after a ring for nothing the channel is not armed anew

#ifdef MORE
#define MOVES 2
#define FEWER false
#else
#define MOVES 1
#define FEWER (inside && wrong != 3)
#endif

mtype = { PENDING, POLLED, ARMED, HELD }

byte wrong;
bool inside;               // within the process
bool changes, own, latch[2];
byte set, listed;          // that it is in; on one of whose lists it is
mtype group = POLLED;
bool armed, used;          // its number, and whether the sender has rung for it
byte all, messages, taken;
bool packet;               // unread in the socket
bool watched[2], told[2];  // by the epoll of a set; an event is there
bool epoll[2], led[2], bell[2], rung[2]; // a leader sleeps in the epoll
bool follows[2], woken[2];
bool moved;                // the note for who calls the handler
byte inside_handler;

inline acquire(l) { atomic { !l -> l = true } }

#define EVENT(w) (listed == (w) && group == PENDING)
#define LEADERLESS(w) (epoll[w] && !led[w] && wrong != 6)
#define SLEEPS(w) (follows[w] || led[w])

// Of a set: who sleeps is woken where that is needed.
inline release(w) {
    d_step {
        if
        :: follows[w] && (EVENT(w) || LEADERLESS(w)) -> follows[w] = false; woken[w] = true
        :: !follows[w] && led[w] && !rung[w] && EVENT(w) -> rung[w] = true; bell[w] = true
        :: else
        fi;
        latch[w] = false
    }
}

inline delist() { armed = false }

inline look(w) { d_step { if :: messages > 0 -> group = PENDING :: else -> group = ARMED fi } }

inline arm(w) {
    d_step { armed = true; used = false };
    look(w)
}

inline place(w) {
    if
    :: atomic { messages > 0 -> listed = w; group = PENDING }
    :: atomic { messages == 0 && SLEEPS(w) -> listed = w; armed = true; used = false }; look(w)
    :: atomic { messages == 0 && !SLEEPS(w) -> listed = w; group = POLLED }
    fi
}

// One look at what the kernel tells. A deep look at the channel takes the packet out of its socket.
inline hear(w) {
    d_step {
        if :: bell[w] -> rung[w] = false; bell[w] = false :: else fi;
        vain = false;
        if
        :: told[w] && set == w && group != HELD && group != PENDING ->
            packet = false;
            if
            :: messages > 0 -> delist(); listed = w; group = PENDING
            :: messages == 0 && armed && wrong != 7 -> delist(); vain = true
            :: else
            fi
        :: else
        fi;
        told[w] = false
    };
    if :: vain -> vain = false; arm(w) :: else fi
}

inline given_back(w) { delist(); place(w) }

inline call(w) {
    d_step { delist(); group = HELD; moved = false };
    release(w);
    atomic { inside_handler++; assert(inside_handler == 1) };
    d_step { if :: messages > 0 -> messages--; taken++ :: else fi };
    atomic { !latch[w] -> latch[w] = true; inside_handler--; was_moved = moved && wrong != 2 };
    if :: !was_moved -> given_back(w) :: else fi;
    release(w);
    if
    :: was_moved -> // fin_waitset_return
        acquire(changes);
        to = set;
        acquire(latch[to]);
        given_back(to);
        release(to);
        changes = false;
        to = 0
    :: else
    fi;
    was_moved = false
}

inline find(w) {
    if :: epoll[w] -> hear(w) :: true fi; // every now and then
    d_step {
        again = false;
        if
        :: EVENT(w) -> delist(); if :: messages > 0 -> found = true :: else -> again = true fi
        :: listed == w && group == POLLED && messages > 0 -> found = true
        :: else
        fi;
        assert(!found || set == w)
    };
    if :: again -> again = false; place(w) :: else fi
}

inline sleep_in(w) {
    if
    :: !epoll[w] ->
        d_step { follows[w] = true; woken[w] = false; latch[w] = false };
        if
        :: woken[w]
        :: taken == all -> goto over
        fi
    :: epoll[w] ->
        d_step { led[w] = true; rung[w] = false; latch[w] = false };
        if
        :: told[w] || bell[w]
        :: taken == all -> goto over
        fi;
        atomic { !latch[w] -> latch[w] = true; led[w] = false };
        hear(w);
        release(w)
    fi
}

proctype Waiter(byte w) {
    bool found, again, slept, was_moved, vain;
    byte to;
    do
    :: true ->
        acquire(latch[w]);
        find(w);
        if
        :: found -> found = false; slept = false; call(w)
        :: else ->
            if :: listed == w && group == POLLED -> arm(w) :: else fi;
            if
            :: atomic { !EVENT(w) && !slept -> slept = true }; sleep_in(w)
            :: atomic { EVENT(w) || slept -> slept = false; release(w) }
            fi
        fi
    od;
over:
    slept = false
}

inline enter(to) {
    d_step {
        if
        :: !inside -> epoll[to] = true; watched[to] = true; told[to] = packet
        :: else
        fi;
        set = to
    }
}

inline leave(from) { d_step { delist(); watched[from] = false; told[from] = false } }

proctype Mover() {
    byte n, from, to;
    do
    :: n < MOVES ->
        n++;
        acquire(changes);
        atomic { !own -> own = true; from = set; to = 1 - from };
        acquire(latch[from]);
        if :: wrong != 4 -> acquire(latch[to]) :: else fi;
        enter(to);
        leave(from);
        if
        :: atomic { group == HELD -> listed = to; moved = true }
        :: atomic { group != HELD && wrong == 1 -> listed = to; group = POLLED }
        :: group != HELD && wrong != 1 -> place(to)
        fi;
        atomic { if :: wrong == 5 -> latch[to] = false :: else -> release(to) fi; release(from) };
        d_step { own = false; changes = false; from = 0; to = 0 }
    :: true -> break
    od
}

inline ring() {
    if
    :: inside -> // fin_waitset_rung, by who has the channel's latch
        if :: wrong != 3 -> acquire(own) :: else fi;
        w = set;
        atomic { !latch[w] -> if :: group != HELD && group != PENDING -> listed = w; group = PENDING :: else fi; release(w) };
        d_step { w = 0; if :: wrong != 3 -> own = false :: else fi }
    :: !inside -> d_step { packet = true; told[0] = told[0] || watched[0]; told[1] = told[1] || watched[1] }
    fi
}

proctype Sender() {
    byte n, w;
    bool rings;
    bool skipped = FEWER;
    do
    :: n < all ->
        n++;
        messages++;
        d_step { rings = armed && !used; used = used || rings };
        if :: rings -> rings = false; ring() :: else fi
    :: !skipped && n < all ->
        d_step { skipped = true; rings = armed && !used; used = used || rings };
        if :: rings -> rings = false; ring() :: else fi
    :: n == all -> break
    od
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        if
        :: inside = true
        :: inside = false; epoll[0] = true; watched[0] = true
        fi;
#ifdef MORE
        all = 2;
#else
        all = (wrong == 2 -> 2 : 1); // what that loses is the second
#endif
        run Waiter(0);
        run Waiter(1);
        run Mover();
        run Sender()
    }
}
