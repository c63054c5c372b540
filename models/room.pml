// SPDX-License-Identifier: BSD-2-Clause
// Two ends that call each other, with more requests than their rings hold, and answer one request at a time: who waits for
// room does not take what is in the way of the other side's answers.
//
// It stands for: fin_rpc_no_room, look, keep_some, other_sleeps, tell (src/chan/requests.c); sleep_for_room, fin_ump_consumed
// (src/chan/ump.c); fin_rpc_go_on_waiting, fin_rpc_read_now, promote, fin_rpc_take_request (src/chan/rpc.c).
//
// A thread for each side. On each an AWE sends all its requests before it waits for their answers; another takes a request,
// answers it, and takes the next. One at a time sends. Who waits for an answer or a request reads, if nobody does. On one
// side somebody waits for a request once, and leaves without it. Messages take a line, or half of a ring. What is taken is
// told for each half of a ring (later than it is).
//
// Never: all wait, and not all requests have been answered.
//
// WRONG 1 who is to sleep keeps no requests
// WRONG 2 who is to sleep looks only at what has been read
// WRONG 3 who reads does not look for the one that sleeps
// WRONG 4 nor does who leaves
// WRONG 5 who has been woken once counts as woken
// WRONG 6 who is to sleep does not say so before it looks what the other side does

#define LINES 4
#define LONG 2
#ifdef MORE
#define FEWER 0
#else
#define FEWER 1 // of side 1
#endif
#define REQUESTS (LINES / lines[REQUEST] + 2 - FEWER * s)
#define REQUEST 0
#define ANSWER 1

byte wrong, lines[2]; // of a request, and of an answer

// Of the direction in which side s sends; lines.
chan ring[2] = [LINES] of { bit };
byte used[2]; // as the sender knows
byte news[2]; // that were taken, and not told
bool armed[2], rung[2], bell[2];

// Of side s itself.
bool running[2], turn[2], again[2], sleeps[2], keeps[2], reading[2], head[2];
byte kept[2], answers[2];

#define OTHER (1 - s)
#define ROOM(kind) (used[s] + lines[kind] <= LINES)
#define CAN_READ (!reading[s] && !head[s])
#define OTHER_SLEEPS (armed[OTHER] && !rung[OTHER])

// chan.pml has the order of these two steps.
inline tell() {
    d_step {
        used[OTHER] = used[OTHER] - news[OTHER];
        news[OTHER] = 0;
        if
        :: armed[OTHER] && !rung[OTHER] -> rung[OTHER] = true; bell[OTHER] = true
        :: else
        fi
    }
}

inline take(kind) {
    ring[OTHER] ? kind;
    news[OTHER] = news[OTHER] + lines[kind];
    if :: news[OTHER] >= LONG -> tell() :: else fi
}

// At the ring's first message.
inline handle() {
    if
    :: atomic { ring[OTHER] ? [ANSWER] -> answers[s]++; take(ANSWER) }
    :: atomic { ring[OTHER] ? [REQUEST] -> head[s] = true }
    fi
}

// Not more than some at a time.
inline read_now() {
    if
    :: CAN_READ && len(ring[OTHER]) > 0 -> handle()
    :: else
    fi
}

// For the one that sleeps, or is to. It tells only what nobody else has the turn for, who reads.
inline look() {
    if :: head[s] || wrong == 2 :: else -> read_now() fi;
    keeps[s] = again[s] && !news[OTHER] && wrong != 1;
    do
    :: atomic { keeps[s] && head[s] && OTHER_SLEEPS -> head[s] = false; kept[s]++; take(REQUEST) }; read_now()
    :: else -> break
    od;
    if
    :: !reading[s] && (news[OTHER] || !again[s]) -> tell()
    :: else
    fi
}

inline stop_until(condition) {
    running[s] = false;
    atomic { (condition) && !running[s] -> running[s] = true }
}

inline sleep_for_room(kind) {
    if :: wrong == 6 :: else -> d_step { armed[s] = true; if :: wrong == 5 :: else -> rung[s] = false fi } fi;
    if
    :: ROOM(kind)
    :: else ->
        look();
        atomic { armed[s] = true; sleeps[s] = true; running[s] = false }
        atomic { bell[s] && !running[s] -> running[s] = true; bell[s] = false; sleeps[s] = false }
    fi;
    atomic { armed[s] = false; again[s] = true }
}

inline send(kind) {
    atomic {
        if :: turn[s] -> stop_until(!turn[s]) :: else fi;
        turn[s] = true;
        again[s] = false
    }
    do
    :: atomic { ROOM(kind) -> used[s] = used[s] + lines[kind]; ring[s] ! kind; turn[s] = false; break }
    :: else -> sleep_for_room(kind)
    od
}

// Pre: nobody reads, and there is no head.
inline read() {
    atomic {
        if :: len(ring[OTHER]) == 0 -> reading[s] = true; stop_until(len(ring[OTHER]) > 0); reading[s] = false :: else fi
    }
    handle();
    if :: head[s] && sleeps[s] && wrong != 3 -> look() :: else fi
}

proctype calls(bit s) {
    byte n;
    atomic { !running[s] -> running[s] = true };
    do
    :: atomic { n < REQUESTS -> n++ }; send(REQUEST)
    :: else -> break
    od;
    do
    :: answers[s] == REQUESTS -> break
    :: answers[s] < REQUESTS && CAN_READ -> read()
    :: answers[s] < REQUESTS && !CAN_READ -> atomic { stop_until(CAN_READ || answers[s] == REQUESTS) }
    od;
    running[s] = false
}

proctype serves(bit s) {
    atomic { !running[s] -> running[s] = true };
    do
    :: atomic { kept[s] -> kept[s]-- }; send(ANSWER)
    :: atomic { !kept[s] && head[s] -> head[s] = false; take(REQUEST) }; send(ANSWER)
    :: !kept[s] && CAN_READ && len(ring[OTHER]) > 0 -> read()
    :: atomic { !kept[s] && CAN_READ && len(ring[OTHER]) == 0 -> reading[s] = true; running[s] = false }
end_waits:
        atomic { len(ring[OTHER]) > 0 && !running[s] -> running[s] = true; reading[s] = false };
        read()
    :: atomic { !kept[s] && !head[s] && reading[s] -> running[s] = false }
end_waits_for_reader:
        atomic { (kept[s] || head[s] || CAN_READ) && !running[s] -> running[s] = true }
    od
}

// Waits for a request, and is given it past the ring, or is cancelled.
proctype leaves(bit s) {
end_never:
    atomic { !running[s] && CAN_READ && len(ring[OTHER]) == 0 -> reading[s] = true };
    atomic { !running[s] -> running[s] = true; reading[s] = false };
    if :: sleeps[s] && wrong != 4 -> look() :: else fi;
    running[s] = false
}

init {
    c_code { now.wrong = atoi(getenv("WRONG")); };
    atomic {
#ifdef MORE
        if :: lines[REQUEST] = 1 :: lines[REQUEST] = LONG fi;
        if :: lines[ANSWER] = 1 :: lines[ANSWER] = LONG fi;
#else
        lines[REQUEST] = LONG;
        lines[ANSWER] = 1;
#endif
        run calls(0); run calls(1); run serves(0); run serves(1);
        run leaves(0)
    }
}
