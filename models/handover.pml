// SPDX-License-Identifier: BSD-2-Clause
// A pair of channel ends between AWEs of one thread: messages go from who sends to who waits past the ring, and with
// fin_chan_send_recv the processor goes with them; while others receive at the same end, or send to it, and one of the waits
// is cancelled at any moment. Between two waits nothing else runs, so each such part is one step.
//
// It stands for: fin_lmp_recv, recv_waiting, is_plain, is_plain_after_all, fin_lmp_cancelled, can_go_on, send_recv,
// fin_lmp_wake, fin_lmp_await (src/chan/lmp.c); fin_lmp_go_on, fin_lmp_put, fin_lmp_give, plainly_here, lmp_begin,
// lmp_wait_in, lmp_left, lmp_end (src/chan/lmp.h); call, await_request, can_hand_over, hand_request, answer_here
// (src/chan/ask.c); hand, put (src/chan/send.c); recv_any, fin_chan_recv_there (src/chan/chan.c); turn_take, turn_give
// (src/chan/turn.h). In ask.c a message is a request or an answer.
//
// AWE 0 asks, of 1, which answers and waits for the next; 2 receives beside 1; 3 sends to both. The block of one of the
// first three is cancelled. 0 and 3 may stop at any number of messages, so that more of them only adds to what can happen.
//
// Never: a message is lost, or comes twice, or before an older one; a receive that was cancelled has had a message; an AWE
// is made to run twice, or its waiter looked at when it has gone on; one waits for ever for a message that is there, for a
// turn that nobody has, or though its block is cancelled.
//
// WRONG 1 a cancel does not look whether the AWE has its message already
// WRONG 2 with the processor the message goes to a waiter that stays where others find it
// WRONG 3 a message that goes into the ring is no news
// WRONG 4 whoever has received gives nobody the turn
// WRONG 5 a receiver waits for a message past the ring though there is news
// WRONG 6 send_recv does not look whether its block has been cancelled
// WRONG 7 a message goes into the ring, and the one who waits is not told
// WRONG 8 the processor is handed over though others wait for a turn at the end of who hands it over

#define AWES 4
#define NOBODY 9
#ifdef MORE
#define ASKS 3
#define SENDS 3
#else
#define ASKS 2
#define SENDS 2
#endif
#define TO_SERVER 0
#define TO_CLIENT 1

mtype = { GOT, CANCELLED, LOOK } // what a wait ends with
mtype = { NOT, FOR_MESSAGE, FOR_NEWS, FOR_TURN } // what an AWE waits for

byte wrong;
byte running = NOBODY;
bool queued[AWES], cancelled[AWES], can_cancel[AWES], over[AWES];
mtype waits[AWES], ended[AWES];
byte at[AWES]; // the direction that it waits in

// Of a direction.
byte waiter[2] = NOBODY;
bool news[2], locked[2], quick[2];
byte sent[2], taken[2], returned[2]; // taken: from the ring, or by who waits
chan ring0 = [8] of { byte };
chan ring1 = [8] of { byte };
chan turn0 = [AWES] of { byte };
chan turn1 = [AWES] of { byte };
#define empty_ring(d) (d == TO_SERVER -> len(ring0) == 0 : len(ring1) == 0)
#define nobody_for_turn(d) (d == TO_SERVER -> len(turn0) == 0 : len(turn1) == 0)

inline make_run(a, how) {
    assert(waits[a] != NOT && !queued[a]);
    waits[a] = NOT;
    ended[a] = how;
    queued[a] = true
}

// fin_lmp_go_on
inline go_on(a, how) {
    waiter[at[a]] = NOBODY;
    make_run(a, how)
}

// Gives up the processor, and goes on when it has it again.
inline stop(why) {
    waits[me] = why;
    running = NOBODY;
    (running == me)
}

inline arrived(d, number) {
    assert(number == taken[d]);
    taken[d]++
}

inline take_from_ring(d) {
    if
    :: d == TO_SERVER -> ring0?number
    :: d == TO_CLIENT -> ring1?number
    fi;
    arrived(d, number);
    result = GOT
}

inline give_turn(d) {
    if
    :: wrong == 4 -> skip
    :: wrong != 4 && nobody_for_turn(d) -> locked[d] = false; quick[d] = true
    :: wrong != 4 && !nobody_for_turn(d) -> // who waits has it
        if
        :: d == TO_SERVER -> turn0?other
        :: d == TO_CLIENT -> turn1?other
        fi;
        make_run(other, GOT)
    fi
}

// fin_chan_recv_there
inline recv_there(d) {
    result = LOOK;
    if
    :: cancelled[me] -> result = CANCELLED
    :: !cancelled[me] && !locked[d] && !empty_ring(d) -> take_from_ring(d)
    :: else
    fi;
    if
    :: result == LOOK && locked[d] ->
        if
        :: d == TO_SERVER -> turn0!me
        :: d == TO_CLIENT -> turn1!me
        fi;
        at[me] = d;
        stop(FOR_TURN);
        result = (ended[me] == CANCELLED -> CANCELLED : LOOK)
    :: result == LOOK && !locked[d] -> locked[d] = true
    :: else
    fi;
    if
    :: result == LOOK ->
        quick[d] = false;
        do
        :: result == LOOK && !empty_ring(d) -> take_from_ring(d)
        :: result == LOOK && empty_ring(d) && cancelled[me] -> result = CANCELLED
        :: result == LOOK && empty_ring(d) && !cancelled[me] -> // fin_lmp_await
            assert(waiter[d] == NOBODY);
            waiter[d] = me;
            at[me] = d;
            stop(FOR_NEWS);
            if :: ended[me] == CANCELLED -> result = CANCELLED :: else fi
        :: result != LOOK -> break
        od;
        give_turn(d)
    :: else
    fi
}

inline leave_word(d) { // begin, wait_in
    assert(waiter[d] == NOBODY && !locked[d]);
    locked[d] = true;
    quick[d] = false;
    waiter[d] = me;
    at[me] = d
}

inline is_over(d) { // end
    result = ended[me];
    give_turn(d);
    if :: result == LOOK -> recv_there(d) :: else fi
}

inline count(d) { if :: result == GOT -> returned[d]++ :: else fi }

// fin_chan_recv
inline recv(d) {
    if :: quick[d] && news[d] && wrong != 5 -> news[d] = !empty_ring(d) :: else fi;
    if
    :: cancelled[me] -> result = CANCELLED
    :: !cancelled[me] && quick[d] && (!news[d] || wrong == 5) -> leave_word(d); stop(FOR_MESSAGE); is_over(d)
    :: else -> recv_there(d)
    fi;
    count(d)
}

// fin_chan_send
inline send(d) {
    if
    :: waiter[d] != NOBODY && waits[waiter[d]] == FOR_MESSAGE -> // hand
        arrived(d, sent[d]);
        other = waiter[d];
        go_on(other, GOT)
    :: waiter[d] != NOBODY && waits[waiter[d]] != FOR_MESSAGE ->
        assert(waits[waiter[d]] == FOR_NEWS);
        into_ring(d);
        other = waiter[d];
        if :: wrong != 7 -> go_on(other, LOOK) :: else fi
    :: waiter[d] == NOBODY -> into_ring(d)
    fi;
    sent[d]++
}

inline into_ring(d) {
    if
    :: d == TO_SERVER -> ring0!sent[d]
    :: d == TO_CLIENT -> ring1!sent[d]
    fi;
    if :: wrong != 3 -> news[d] = true :: else fi
}

#define waits_there(d) (waiter[d] != NOBODY && waits[waiter[d]] == FOR_MESSAGE)

// fin_chan_send_recv: `out` and `in` are directions
inline send_recv(out, in) {
    if
    :: waits_there(out) && (quick[in] || wrong == 8) && !news[in] && (!cancelled[me] || wrong == 6) ->
        leave_word(in);
        other = waiter[out];
        arrived(out, sent[out]);
        sent[out]++;
        if :: wrong != 2 -> waiter[out] = NOBODY :: else fi;
        assert(!queued[other]);
        waits[other] = NOT;
        ended[other] = GOT;
        waits[me] = FOR_MESSAGE;
        running = other;
        (running == me);
        is_over(in);
        count(in)
    :: cancelled[me] && wrong != 6 -> result = CANCELLED
    :: else -> send(out); recv(in)
    fi
}

inline end_of_awe() {
    over[me] = true;
    can_cancel[me] = false;
    running = NOBODY
}

proctype Client() {
    byte me = 0, number, other, i;
    mtype result = GOT;
    atomic {
        (running == me);
        do
        :: i < ASKS && result == GOT -> i++; send_recv(TO_SERVER, TO_CLIENT)
        :: break
        od;
        i = 0;
        end_of_awe()
    }
}

proctype Server() {
    byte me = 1, number, other;
    mtype result;
    atomic {
        (running == me);
        recv(TO_SERVER);
        do
        :: result == GOT -> send_recv(TO_CLIENT, TO_SERVER)
        :: result == GOT -> send(TO_CLIENT); recv(TO_SERVER)
        :: result != GOT -> break
        od;
        end_of_awe()
    }
}

proctype Beside() {
    byte me = 2, number, other;
    mtype result;
    atomic {
        (running == me);
        recv(TO_SERVER);
        if :: result == GOT -> recv(TO_SERVER) :: else fi;
        end_of_awe()
    }
}

// Between two messages others may run.
proctype Sender() {
    byte me = 3, number, other, i;
    mtype result;
    atomic {
        (running == me);
        do
        :: i < SENDS -> i++; send(TO_SERVER);
            if
            :: queued[me] = true; running = NOBODY; (running == me)
            :: skip
            fi
        :: break
        od;
        i = 0;
        end_of_awe()
    }
}

// The block of one of them, in a moment when no part of another runs: the cancel item, where there is one.
inline cancel(a) {
    cancelled[a] = true;
    if
    :: waits[a] == FOR_TURN ->
        if
        :: at[a] == TO_SERVER -> turn0??eval(a)
        :: at[a] == TO_CLIENT -> turn1??eval(a)
        fi;
        make_run(a, CANCELLED)
    :: (waits[a] == FOR_MESSAGE || waits[a] == FOR_NEWS) && waiter[at[a]] == a -> go_on(a, CANCELLED)
    :: wrong == 1 && waits[a] == NOT && queued[a] && !over[a] -> ended[a] = CANCELLED
    :: else
    fi
}

inline check() {
    for (d : 0 .. 1) {
        assert(returned[d] == taken[d]);
        assert(taken[d] + (d == TO_SERVER -> len(ring0) : len(ring1)) == sent[d]);
        assert(waiter[d] == NOBODY || empty_ring(d));
        assert(!locked[d] || waiter[d] != NOBODY);
        assert(nobody_for_turn(d) || waiter[d] != NOBODY)
    }
    for (a : 0 .. AWES - 1) {
        assert(over[a] || (waits[a] != NOT && !cancelled[a]))
    }
    d = 0;
    a = 0
}

// Whichever is queued goes on: what holds in any order holds in theirs. What is left waiting in the end is cancelled.
proctype Dispatcher() {
    byte a, d;
    bool may_cancel = true;
    do
    :: atomic {
        running == NOBODY ->
        if
        :: queued[0] -> a = 0
        :: queued[1] -> a = 1
        :: queued[2] -> a = 2
        :: queued[3] -> a = 3
        :: may_cancel && can_cancel[0] -> may_cancel = false; cancel(0); a = NOBODY
        :: may_cancel && can_cancel[1] -> may_cancel = false; cancel(1); a = NOBODY
        :: may_cancel && can_cancel[2] -> may_cancel = false; cancel(2); a = NOBODY
        :: !queued[0] && !queued[1] && !queued[2] && !queued[3] ->
            check();
            if
            :: !over[0] -> cancel(0)
            :: over[0] && !over[1] -> cancel(1)
            :: over[0] && over[1] && !over[2] -> cancel(2)
            :: over[0] && over[1] && over[2] -> break
            fi;
            a = NOBODY
        fi;
        if
        :: a != NOBODY -> queued[a] = false; running = a; a = 0
        :: else -> a = 0
        fi
    }
    od
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        quick[0] = true; quick[1] = true;
        waits[0] = NOT; waits[1] = NOT; waits[2] = NOT; waits[3] = NOT;
        queued[0] = true; queued[1] = true; queued[2] = true; queued[3] = true;
        can_cancel[0] = true; can_cancel[1] = true; can_cancel[2] = true;
        run Client(); run Server(); run Beside(); run Sender(); run Dispatcher()
    }
}
