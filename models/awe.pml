// SPDX-License-Identifier: BSD-2-Clause
// The states of an AWE, and who may change them: its own thread, which schedules it, yields to it or sleeps until others do;
// and other threads that schedule it at the same time.
//
// It stands for: stop, fin_claim, take, claim_plain, resume (src/core/dispatch.h); fin_drain_inbox, fin_drain_until
// (src/core/dispatch.c); expose, schedule, fin_core_yield_to_ (src/core/awe.c).
//
// Never: an AWE runs while it is on a list or in the inbox; it is resumed twice for one wait, or by two who both claimed it;
// a wake is lost. The AWE waits again in the same place, once all who may still look at it have done so: what programs owe.
//
// WRONG 1 a directed yield takes an AWE that is claimed and not yet in the inbox (as Fin did)
// WRONG 2 a claim is a load and a store
// WRONG 3 others are told of the AWE before its state says that it waits
// WRONG 4 draining leaves the AWE's state as it is

#define ROUNDS 2
#define OTHERS 2

mtype = { RUNNING, QUEUED, SUSPENDED, WOKEN, SAVED }

byte wrong;
mtype state = RUNNING;
bool in_queue, in_list; // of the thread, which alone touches them
byte inbox;             // how often the AWE is in it
byte round, told;       // the round of which others know
byte tried, claims;

inline claim(new, got) {
    if
    :: wrong == 2 ->
        got = (state == SUSPENDED);
        if :: got -> state = new; claims++ :: else fi
    :: else ->
        atomic {
            got = (state == SUSPENDED);
            if :: got -> state = new; claims++ :: else fi
        }
    fi
}

proctype Other() {
    bool got;
    byte mine;
    do
    :: mine < ROUNDS ->
        mine++;
        told == mine;
        claim(WOKEN, got);
        if :: got -> inbox++ :: else -> assert(claims > 0) fi; // somebody else made it run
        tried++
    :: mine == ROUNDS -> break
    od
}

// All that the thread does to its own lists, nobody sees.
inline drain() {
    d_step {
        do
        :: inbox > 0 ->
            inbox--;
            assert(in_list && !in_queue && state == WOKEN);
            in_list = false;
            in_queue = true;
            if :: wrong != 4 -> state = QUEUED :: else fi
        :: else -> break
        od
    }
}

inline take() {
    if
    :: state == QUEUED -> in_queue = false
    :: else ->
        claim(QUEUED, got);
        if
        :: got -> in_list = false
        :: !got && wrong == 1 -> drain(); in_queue = false; in_list = false
        :: !got && wrong != 1 ->
            do
            :: state == QUEUED -> break
            :: state != QUEUED && inbox > 0 -> drain()
            od;
            in_queue = false
        fi
    fi;
    runs = true
}

inline suspend() {
    if :: wrong == 3 -> told = round :: else fi;
    state = SUSPENDED;
    in_list = true;
    told = round
}

proctype Thread() {
    bool got, runs;
    do
    :: round < ROUNDS ->
        d_step { round++; claims = 0; tried = 0; runs = false };
        suspend();
        do
        :: runs -> break
        :: !runs && in_queue -> in_queue = false; runs = true // dispatch
        :: !runs && inbox > 0 -> drain()
        :: !runs && !in_queue -> claim(QUEUED, got); if :: got -> in_list = false; in_queue = true :: else fi
        :: !runs && state == SUSPENDED -> // the quick path of a directed yield
            claim(SAVED, got);
            if :: got -> in_list = false; runs = true :: else fi
        :: !runs -> take()
        od;
        assert(!in_queue && !in_list && inbox == 0);
        assert(claims == 1);
        state = RUNNING;
        tried == OTHERS
    :: round == ROUNDS -> break
    od;
    assert(inbox == 0)
}

init {
    byte i;
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        run Thread();
        do :: i < OTHERS -> run Other(); i++ :: else -> break od
    }
}
