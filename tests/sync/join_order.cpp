// SPDX-License-Identifier: BSD-2-Clause
// When a join returns, the thread's thread-local variables are gone, and their destructors may have used a runtime; while
// they run, a join blocks nothing but its AWE.
#include <pthread.h>

#include <fin.hpp>

#include "check.h"

static fin_sem at_end = FIN_SEM_INIT(0), gate = FIN_SEM_INIT(0);
static int destroyed;

struct last_words {
    int yields = 0;
    ~last_words() {
        fin_finish {
            fin_async {
                for (int i = 0; i < 3; i++) {
                    fin_yield();
                    yields++;
                }
            };
        }
        destroyed += yields == 3;
        fin_sem_post(&at_end);
    }
};

static void child(void *) {
    static thread_local last_words words;
    words.yields = 0;
    fin_yield();
}

// A key's destructor that needs other work of the joining thread.
static pthread_key_t key;
static void destroy(void *) {
    fin_sem_post(&at_end);
    fin_sem_wait_nc(&gate);
    destroyed++;
}

static void child_with_key(void *arg) {
    fin_yield();
    pthread_setspecific(key, arg);
}

int main() {
    for (int i = 1; i <= 50; i++) {
        fin_thread_handle h;
        CHECK_EQ(fin_thread_start(&h, child, nullptr), 0);
        CHECK_EQ(fin_thread_join(&h), 0);
        CHECK_EQ(destroyed, i);
        CHECK_EQ(fin_sem_trywait(&at_end), 0);
    }
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    for (int i = 51; i <= 100; i++) {
        fin_thread_handle h;
        CHECK_EQ(fin_thread_start(&h, child_with_key, &h), 0);
        fin_finish {
            fin_async { CHECK_EQ(fin_thread_join(&h), 0); };
            CHECK_EQ(fin_sem_wait(&at_end), 0);
            for (int k = 0; k < 1000; k++)
                fin_yield();
            fin_sem_post(&gate);
        }
        CHECK_EQ(destroyed, i);
    }
    return 0;
}
