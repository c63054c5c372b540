// SPDX-License-Identifier: BSD-2-Clause
// Requests that complete many times. See struct shot.
#include "io/uring.h"

void fin_shot_start(struct shot *s) {
    struct request *r = &s->request;
    r->call = &s->call;
    r->cancelled = r->withdrawn = false;
    r->tries = 0;
    fin_uring_start(r, TO_SHOT);
}

// Once is enough: what is not found is looked for again.
void fin_shot_cancel(struct shot *s) {
    struct request *r = &s->request;
    if (!(r->pending & RESULT) || r->cancelled)
        return;
    r->cancelled = true;
    if (fin_uring_withdraw(r))
        s->ended(s);
    else
        fin_uring_send_cancel(r);
}

static void look_for_end(struct shot *s) {
    if (s->request.pending)
        return;
    if (s->stopping)
        fin_io_resume(s->request.io, &s->request.waiter, 0);
    else
        s->ended(s);
}

void fin_shot_completed(struct shot *s, int result, uint32_t flags) {
    struct request *r = &s->request;
    if (!(flags & IORING_CQE_F_MORE)) {
        r->pending &= (uint8_t)~RESULT;
        if (!(r->pending & CANCEL))
            fin_timer_remove(&r->again);
    }
    s->got(s, result, flags);
    look_for_end(s);
}

void fin_shot_cancel_completed(struct shot *s, int result) {
    fin_uring_cancel_completed(&s->request, result);
    look_for_end(s);
}

void fin_shot_stop(struct shot *s) {
    fin_shot_cancel(s);
    if (!fin_shot_runs(s))
        return;
    s->stopping = true;
    fin_io_suspend(&s->request.waiter);
    s->stopping = false;
}
