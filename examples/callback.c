// SPDX-License-Identifier: BSD-2-Clause
// Tutorial: a library that calls back, turned into a function that waits (ac 4.3, figures 7 to 9).
//
// The library is a small one for messages. It calls a function of ours for each message, when it likes and on a thread of
// its own. What we want instead is
//
//     int inbox_receive(struct inbox *in, int *message);
//
// which waits for the next message while the thread's other work runs on, which can be cancelled like any function of Fin,
// and which never loses a message to a cancellation. The way there is the same for every such library:
//
//   step 1  a record in which the two sides meet
//   step 2  the bottom half: our callback. It leaves the message in the record and wakes the one who waits
//   step 3  the cancel item: it wakes the one who waits, without a message
//   step 4  the top half: the function that waits
//
// main shows it at work, and checks what it says.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <fin.h>

#include "example.h"

// ---- the library, as we found it: it knows nothing of Fin

enum { POST_SIZE = 16 };

// Delivers messages in order, one call of on_message for each. If that returns false, nobody had room for the message: it is
// delivered again after the next post_ready.
struct post {
    bool (*on_message)(void *arg, int message);
    void *arg;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int messages[POST_SIZE];
    unsigned sent, delivered;
    bool refused, closed;
    pthread_t thread;
};

// Pre: the mutex is held. Returns false where there is nothing to deliver now.
static bool deliver(struct post *p) {
    if (p->sent == p->delivered || p->refused)
        return false;
    int message = p->messages[p->delivered % POST_SIZE];
    p->refused = true; // unless it is taken, or post_ready comes in between
    pthread_mutex_unlock(&p->mutex);
    bool taken = p->on_message(p->arg, message);
    pthread_mutex_lock(&p->mutex);
    if (taken) {
        p->delivered++;
        p->refused = false;
    }
    return true;
}

static void *post_thread(void *arg) {
    struct post *p = arg;
    pthread_mutex_lock(&p->mutex);
    while (!p->closed) {
        if (!deliver(p))
            pthread_cond_wait(&p->changed, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static void post_open(struct post *p, bool (*on_message)(void *, int), void *arg) {
    *p = (struct post){.on_message = on_message, .arg = arg};
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
}

static void post_close(struct post *p) {
    pthread_mutex_lock(&p->mutex);
    p->closed = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}

static void post_ready(struct post *p) {
    pthread_mutex_lock(&p->mutex);
    p->refused = false;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}

// Returns false where the library's queue is full.
static bool post_send(struct post *p, int message) {
    pthread_mutex_lock(&p->mutex);
    bool room = p->sent - p->delivered < POST_SIZE;
    if (room)
        p->messages[p->sent++ % POST_SIZE] = message;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    return room;
}

// Delivers what there is, on the calling thread: for programs without a post_thread.
static void post_poll(struct post *p) {
    pthread_mutex_lock(&p->mutex);
    while (deliver(p)) {
    }
    pthread_mutex_unlock(&p->mutex);
}

// ---- step 1: the record
//
// At most one message and at most one waiting top half meet here. Every change of `state` is made with the latch held,
// because the callback comes on another thread; a latch is held for a few instructions and never while something blocks.
//
//                 callback           receive                      callback
//    BH_WAITING <---------- EMPTY -----------> TH_WAITING -------------------> TH_DELIVERED
//                                                   `--------------------> TH_CANCELLED
//                                                        cancellation
//
// Out of TH_WAITING lead two ways, and whoever comes first takes his: that makes the cancellation exact. The top half goes
// back to EMPTY from all states at the right, and from BH_WAITING.
struct inbox {
    struct post *post;
    struct fin_mutex receivers; // one top half at a time, first come, first served
    struct fin_latch latch;
    enum { EMPTY, BH_WAITING, TH_WAITING, TH_DELIVERED, TH_CANCELLED } state;
    int message;
    struct fin_awe *receiver; // where the top half goes on; while TH_WAITING
    bool direct;              // callbacks come on the receivers' own thread, from async work
};

static void inbox_init(struct inbox *in, struct post *post) {
    *in = (struct inbox){.post = post};
    fin_mutex_init(&in->receivers);
    fin_latch_init(&in->latch);
}

// ---- step 2: the bottom half
//
// It runs wherever the library calls it and must not wait there. What it needs of Fin is fin_schedule, which any thread may
// call: it makes the AWE runnable and wakes its thread if that sleeps. Exactly one fin_schedule may answer a fin_suspend;
// here the state sees to it. In the paper a bottom half without room waits for a lock; a library with refusals needs none.
//
// Where the callback runs on the receiver's own thread, fin_yield_to passes control with the message: the receiver runs at
// once, ahead of the queue, and the callback returns when the thread comes round to it again.
static FIN_BLOCKING bool on_message(void *arg, int message) {
    struct inbox *in = arg;
    fin_latch_acquire(&in->latch);
    bool waiting = in->state == TH_WAITING, room = waiting || in->state == EMPTY;
    if (room) {
        in->message = message;
        in->state = waiting ? TH_DELIVERED : BH_WAITING;
    }
    struct fin_awe *receiver = in->receiver;
    fin_latch_release(&in->latch);
    if (waiting) {
        int result = in->direct ? fin_yield_to(receiver) : fin_schedule(receiver);
        EXPECT(result == 0);
    }
    return room;
}

// ---- step 3: the cancel item
//
// Runs on the receiver's thread, called by whoever cancels the finish block. A message that was delivered already wins.
static void cancel_receive(void *arg) {
    struct inbox *in = arg;
    fin_latch_acquire(&in->latch);
    bool waiting = in->state == TH_WAITING;
    if (waiting)
        in->state = TH_CANCELLED;
    fin_latch_release(&in->latch);
    if (waiting)
        fin_schedule(in->receiver);
}

static void release_latch(void *latch) { fin_latch_release(latch); }

// ---- step 4: the top half
//
// Waits for the next message. Returns 0, or -ECANCELED and no message was taken.
static FIN_BLOCKING int inbox_receive(struct inbox *in, int *message) {
    int result = fin_mutex_lock(&in->receivers);
    if (result != 0)
        return result;
    // An item that is added to a cancelled block runs at once, which would be before we wait: so ask first. Between here and
    // fin_suspend_then nothing blocks, so nobody on this thread can cancel in between.
    if (fin_cancelled()) {
        fin_mutex_unlock(&in->receivers);
        return -ECANCELED;
    }
    fin_latch_acquire(&in->latch);
    if (in->state == EMPTY) {
        in->state = TH_WAITING;
        struct fin_cancel_item item;
        fin_cancel_item_add(&item, cancel_receive, in);
        // Stores where we go on in in->receiver, and only then releases the latch: a callback that is at work on another
        // thread this very moment waits for the latch and finds us ready to be scheduled. With fin_suspend and a release
        // before it, the wake-up could come before there is anybody to wake.
        fin_suspend_then(&in->receiver, release_latch, &in->latch);
        // We run again: scheduled by the bottom half or by the cancel item.
        fin_cancel_item_remove(&item);
        fin_latch_acquire(&in->latch);
    }
    if (in->state == TH_CANCELLED)
        result = -ECANCELED;
    else
        *message = in->message;
    in->state = EMPTY;
    fin_latch_release(&in->latch);
    post_ready(in->post); // there is room again, also for one that was refused while we were being cancelled
    fin_mutex_unlock(&in->receivers);
    return result;
}

// ---- at work

// One thread, messages before and after the receivers; they are served in the order in which they came.
static FIN_BLOCKING void simple(struct inbox *in, struct post *p) {
    EXPECT(post_send(p, 1));
    post_poll(p);
    int message = 0;
    EXPECT(inbox_receive(in, &message) == 0 && message == 1);
    fin_finish {
        for (int i = 10; i < 13; i++) {
            fin_async {
                int own = i, got = 0;
                EXPECT(inbox_receive(in, &got) == 0 && got == own);
            };
        }
        for (int i = 10; i < 13; i++) {
            EXPECT(post_send(p, i));
            post_poll(p);
            fin_yield();
        }
    }
    printf("  messages before and after their receivers, in order\n");
}

// The message first, then the cancel, before the receiver could run; and the other way round.
static FIN_BLOCKING void both_orders(struct inbox *in, struct post *p) {
    fin_shared int result = 0, message = 0;
    fin_finish {
        fin_async { result = inbox_receive(in, &message); };
        EXPECT(post_send(p, 20));
        post_poll(p);
        fin_cancel();
    }
    EXPECT(result == 0 && message == 20);
    fin_finish {
        fin_async { result = inbox_receive(in, &message); };
        fin_cancel();
        EXPECT(post_send(p, 21));
        post_poll(p); // refused: the receiver was cancelled and has not gone yet
    }
    EXPECT(result == -ECANCELED && message == 20);
    post_poll(p);
    EXPECT(inbox_receive(in, &message) == 0 && message == 21);
    printf(
        "  delivered, then cancelled: received. Cancelled, then sent: -ECANCELED, and the next receive has the message\n");
}

// The callback hands the message to the receiver and control with it: the next message is delivered after this one was used.
static FIN_BLOCKING void direct(struct inbox *in, struct post *p) {
    char order[16] = "";
    char *log = order;
    in->direct = true;
    fin_finish {
        fin_async {
            for (int i = 0, message; i < 3; i++) {
                EXPECT(inbox_receive(in, &message) == 0 && message == 30 + i);
                strcat(log, "r");
            }
        };
        fin_async {
            for (int i = 0; i < 3; i++) {
                EXPECT(post_send(p, 30 + i));
                post_poll(p);
                strcat(log, "s");
            }
        };
    }
    in->direct = false;
    EXPECT(strcmp(order, "rsrsrs") == 0);
    printf("  handed over by fin_yield_to: each was used before the callback returned\n");
}

struct storm {
    struct post *post;
    int messages;
};

static void *send_storm(void *arg) {
    struct storm *s = arg;
    for (int i = 0; i < s->messages; i++) {
        unsigned seed = (unsigned)i * 2654435761u;
        struct timespec pause = {.tv_nsec = seed >> 15 & 0xffff};
        do
            nanosleep(&pause, NULL);
        while (!post_send(s->post, i));
    }
    return NULL;
}

// Two other threads, one that sends and the library's, against receives that are cancelled all the time.
static FIN_BLOCKING void storm(struct inbox *in, struct post *p, int messages) {
    struct storm s = {p, messages};
    pthread_t sender;
    EXPECT(pthread_create(&p->thread, NULL, post_thread, p) == 0);
    EXPECT(pthread_create(&sender, NULL, send_storm, &s) == 0);
    int expected = 0, cancelled = 0;
    while (expected < messages) {
        int message = -1, result = 0;
        fin_timeout((uint64_t)(cancelled % 64) * FIN_US) { result = inbox_receive(in, &message); }
        if (result == 0) {
            EXPECT(message == expected);
            expected++;
        } else {
            EXPECT(result == -ECANCELED && message == -1);
            cancelled++;
        }
    }
    pthread_join(sender, NULL);
    post_close(p);
    pthread_join(p->thread, NULL);
    printf("  %d messages from other threads, %d receives cancelled: none lost, none twice, all in order\n", messages,
           cancelled);
}

FIN_BLOCKING int main(int argc, char **argv) {
    only_options(argc, argv, 1, OPTIONS("--short"));
    struct post post;
    struct inbox inbox;
    inbox_init(&inbox, &post);
    post_open(&post, on_message, &inbox);
    simple(&inbox, &post);
    both_orders(&inbox, &post);
    direct(&inbox, &post);
    storm(&inbox, &post, has_option(argc, argv, "--short") ? 300 : 5000);
    return 0;
}
