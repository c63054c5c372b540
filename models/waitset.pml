// SPDX-License-Identifier: BSD-2-Clause
// A waitset in which two AWEs of different threads wait: one as the leader, in the kernel, the other as a follower. One of them
// may be cancelled; one may leave after an event.
//
// It stands for: arm, fin_waitset_place, fin_waitset_arm_all, fin_waitset_hear, poll_once, first_pending, fin_waitset_find,
// fin_waitset_next_follower, fin_waitset_release, fin_waitset_rung, sleep_in, await, fin_waitset_given_back,
// fin_waitset_call (src/chan/groups.c, dispatch.c).
//
// Two channels: one between processes, whose ring is a packet that the kernel tells through the epoll, once; one within the
// process, whose sender rings by fin_waitset_rung. What chan.pml has of arming and of memory is one step each here.
//
// Never: a message stays although somebody waits for one (an invalid end state).
//
// WRONG 1 a follower that is woken finds nothing, or was cancelled meanwhile, and leaves without waking the next
// WRONG 2 the leader leaves without a look whether a follower is to be the leader now
// WRONG 3 what the kernel told somebody else than the leader is not passed on
// WRONG 4 polled channels are not armed before somebody sleeps
// WRONG 5 the channels are looked at, and then armed
// WRONG 6 a channel goes back polled, though somebody sleeps
// WRONG 7 `rung` stays when somebody else than the leader took the ring out of the epoll

#define SOCKET 0
#define INSIDE 1
#define ALL (to_socket + to_inside)
#define NOBODY 2

mtype = { PENDING, POLLED, ARMED, HELD }

byte wrong;
byte to_socket, to_inside; // messages
bool latch;
mtype group[2] = POLLED;
byte messages[2], taken;
bool armed[2];
bool told, bell; // in the epoll: the socket's event, that of the bell
bool led, rung;
bool follows[2], woken[2]; // of the two who wait: on the list; made to run
bool cancelled[2];
byte may_cancel;

inline acquire() { atomic { !latch -> latch = true } }

#define ANY_PENDING (group[SOCKET] == PENDING || group[INSIDE] == PENDING)
#define SLEEPERS (follows[0] || follows[1] || led)

// The latch is given back, and the next woken where that is needed.
inline release() {
    d_step {
        f = NOBODY;
        if
        :: !led || ANY_PENDING ->
            if
            :: follows[0] -> f = 0
            :: !follows[0] && follows[1] -> f = 1
            :: else
            fi
        :: else
        fi;
        if :: f != NOBODY -> follows[f] = false; woken[f] = true :: else fi;
        if :: led && !rung && f == NOBODY && ANY_PENDING -> rung = true; bell = true :: else fi;
        f = 0;
        latch = false
    }
}

inline give_latch_back_only() { latch = false }

inline arm(i) {
    if :: wrong == 5 -> there = messages[i] > 0 :: else fi;
    armed[i] = true;
    if :: wrong != 5 -> there = messages[i] > 0 :: else fi;
    d_step {
        if :: there -> group[i] = PENDING :: else -> group[i] = ARMED fi;
        there = false
    }
}

inline place(i) {
    if
    :: messages[i] > 0 -> group[i] = PENDING
    :: messages[i] == 0 && SLEEPERS && wrong != 6 -> arm(i)
    :: messages[i] == 0 && !(SLEEPERS && wrong != 6) -> group[i] = POLLED
    fi
}

inline delist(i) { d_step { armed[i] = false; group[i] = HELD } }

inline hear() {
    d_step {
        if :: bell && wrong != 7 -> rung = false :: else fi;
        bell = false;
        if :: told && group[SOCKET] == ARMED && messages[SOCKET] > 0 -> armed[SOCKET] = false; group[SOCKET] = PENDING :: else fi;
        told = false
    }
}

inline look_at(i) { delist(i); if :: messages[i] > 0 -> found = i :: else -> place(i) fi }
inline take(i) { delist(i); found = i }

inline find() {
    found = NOBODY;
    if :: hear() :: true fi; // every now and then
    do
    :: atomic { found == NOBODY && group[SOCKET] == PENDING -> look_at(SOCKET) }
    :: atomic { found == NOBODY && group[INSIDE] == PENDING -> look_at(INSIDE) }
    :: else -> break
    od;
    if
    :: atomic { found == NOBODY && group[SOCKET] == POLLED && messages[SOCKET] > 0 -> take(SOCKET) }
    :: atomic { found == NOBODY && group[INSIDE] == POLLED && messages[INSIDE] > 0 -> take(INSIDE) }
    :: else
    fi
}

inline arm_all() {
    if
    :: wrong != 4 ->
        if :: group[SOCKET] == POLLED -> arm(SOCKET) :: else fi;
        if :: group[INSIDE] == POLLED -> arm(INSIDE) :: else fi
    :: else
    fi
}

inline follow() {
    d_step { woken[me] = false; follows[me] = true; latch = false };
    if
    :: woken[me]
    :: atomic { follows[me] && may_cancel > 0 && !latch -> may_cancel--; cancelled[me] = true; follows[me] = false }; goto over
    :: atomic { woken[me] && may_cancel > 0 -> may_cancel--; cancelled[me] = true }
    :: taken == ALL -> goto over
    fi
}

inline lead() {
    d_step { led = true; rung = false; latch = false };
    if
    :: told || bell
    :: atomic { may_cancel > 0 -> may_cancel--; cancelled[me] = true }
    :: taken == ALL -> goto over
    fi;
    acquire();
    led = false;
    if :: wrong != 3 -> hear() :: else -> d_step { told = false; bell = false } fi;
    if :: wrong == 2 -> give_latch_back_only() :: else -> release() fi;
    if :: cancelled[me] -> goto over :: else fi
}

proctype Waiter(byte me) {
    byte found, f;
    bool there, slept;
    do
    :: true ->
        acquire();
        if
        :: cancelled[me] -> if :: wrong == 1 -> give_latch_back_only() :: else -> release() fi; goto over
        :: !cancelled[me] -> find()
        fi;
        if
        :: found != NOBODY ->
            release();
            d_step { if :: messages[found] > 0 -> messages[found]--; taken++ :: else fi }; // the handler
            acquire();
            place(found);
            found = NOBODY;
            release();
            slept = false;
            if :: me == 0 -> goto over :: true fi // it may have other things to do from here on
        :: found == NOBODY ->
            arm_all();
            if
            :: !ANY_PENDING && !slept ->
                slept = true;
                if :: led -> follow() :: else -> lead() fi
            :: else ->
                if :: wrong == 1 -> give_latch_back_only() :: else -> release() fi;
                slept = false
            fi
        fi
    od;
over:
    found = NOBODY;
    slept = false
}

proctype SocketSender() {
    byte n;
    do
    :: n < to_socket ->
        n++;
        messages[SOCKET]++;
        if :: armed[SOCKET] -> told = true :: else fi
    :: n == to_socket -> break
    od
}

proctype InsideSender() {
    byte n, f;
    do
    :: n < to_inside ->
        n++;
        messages[INSIDE]++;
        if
        :: armed[INSIDE] ->
            acquire(); // fin_waitset_rung
            if :: group[INSIDE] != HELD && group[INSIDE] != PENDING -> armed[INSIDE] = false; group[INSIDE] = PENDING :: else fi;
            release()
        :: else
        fi
    :: n == to_inside -> break
    od
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
#ifdef MORE
        if :: may_cancel = 1 :: may_cancel = 0 fi;
        to_socket = 3;
        to_inside = 1;
#else
        if :: to_socket = 2 :: to_socket = 1; to_inside = 1; if :: may_cancel = 1 :: true fi fi;
#endif
        run Waiter(0);
        run Waiter(1);
        run SocketSender();
        run InsideSender()
    }
}
