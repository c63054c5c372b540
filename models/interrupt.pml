// SPDX-License-Identifier: BSD-2-Clause
// A message interrupts what a thread computes: the alerts of Fin, by a signal. (alert.pml has those of the paper.)
//
// It stands for: fin_alert_raise, collect, let_run, compute, disable, interrupt, handler, fin_alert_enable,
// fin_alert_disable (src/chan/alert.c).
//
// The thread has an AWE that computes, with alerts enabled now and then, and one that waits for messages. Others send and raise.
// Memory: the thread's relaxed store of `computing` waits in a buffer; all else is sequentially consistent.
//
// Never: a message has come, the thread computes with alerts enabled, and nothing is under way that tells it (it would compute
// for ever: an invalid end state); a handler acts upon a signal that comes while one does: frames would pile up.
//
// WRONG 1 `alerted` is taken down after the look for messages
// WRONG 2 enabling does not look whether an alert was recorded
// WRONG 3 enabling is a relaxed store
// WRONG 4 who raises looks whether the thread computes before it says that there is an alert
// WRONG 5 the signal is not blocked while what was interrupted is on its way back
// WRONG 6 the handler ends without a look whether another alert was recorded

#define SENDERS 2
#ifdef MORE
#define EACH 2
#else
#define EACH 1
#endif
#define ALL (SENDERS * EACH)
#define NONE 2
#define TOGGLES 2

byte wrong;
bit alerted, computing;
byte late_computing = NONE;
bool pending; // the signal
byte messages, seen;

// Of the thread.
bool blocked, may_alert; // the signal is; its own view of `computing`
byte frames;           // of handlers that act
bool waits = true;     // the AWE for messages
byte toggles;

inline flush() { d_step { if :: late_computing != NONE -> computing = late_computing; late_computing = NONE :: else fi } }

// A signal comes where alerts are disabled.
inline maybe_record() {
    if
    :: pending && !blocked && !may_alert -> pending = false; atomic { flush(); alerted = 1 }
    :: true
    fi
}

inline disable() { may_alert = false; late_computing = 0 }

inline compute() {
    may_alert = true;
    if
    :: wrong == 3 -> late_computing = 1
    :: else -> atomic { flush(); computing = 1 }
    fi
}

inline collect() {
    if :: wrong != 1 -> atomic { flush(); alerted = 0 } :: else fi;
    first = waits && messages > 0;
    if :: first -> waits = false :: else fi;
    maybe_record();
    if :: wrong == 1 -> atomic { flush(); alerted = 0 } :: else fi
}

// The AWE that waits takes what there is, until there is nothing.
inline let_run() {
    do
    :: messages > 0 -> d_step { seen = seen + messages; messages = 0 }; maybe_record()
    :: atomic { messages == 0 -> waits = true } -> break
    od;
    maybe_record()
}

inline interrupt() {
    assert(frames == 0);
    frames++;
    do
    :: true ->
        disable();
        collect();
        if
        :: first -> blocked = false; let_run(); blocked = true
        :: else
        fi;
        if :: wrong == 5 -> blocked = false :: else fi;
        compute();
        assert(!(pending && !blocked)); // it would be delivered here, in this frame
        if
        :: alerted && wrong != 6
        :: else -> break
        fi
    od;
    frames--
}

inline handler() {
    atomic { pending && !blocked -> pending = false; blocked = true };
    atomic { flush(); alerted = 1 };
    if :: may_alert -> interrupt() :: else fi;
    blocked = false
}

proctype Thread() {
    bool first;
enable:
    compute();
    do // a signal may come before the look
    :: pending -> handler()
    :: true -> break
    od;
    if
    :: alerted && wrong != 2 ->
        disable();
        maybe_record();
        collect();
        if :: first -> let_run() :: else fi;
        goto enable
    :: else
    fi;
    do // alerts are enabled: it computes
    :: pending -> handler()
    :: toggles < TOGGLES -> toggles++; disable(); maybe_record(); goto enable
    :: seen == ALL -> break
    od
}

proctype Sender() {
    byte n;
    bit c;
    do
    :: n < EACH ->
        n++;
        messages++;
        if :: wrong == 4 -> c = computing; alerted = 1 :: else -> alerted = 1; c = computing fi;
        if :: c -> pending = true :: else fi
    :: n == EACH -> break
    od
}

proctype Memory() {
end:
    do
    :: d_step { late_computing != NONE -> computing = late_computing; late_computing = NONE }
    od
}

init {
    byte i;
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        run Thread();
        run Memory();
        do :: i < SENDERS -> run Sender(); i++ :: else -> break od
    }
}
