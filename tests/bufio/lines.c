// SPDX-License-Identifier: BSD-2-Clause
// What lines and pieces are, however they come and however much room there is for them; and what is refused.
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fin.h>

#include "check.h"

// A stream that gives `text`, at most `piece` bytes at a time, and then ends; or gives an error where there is a '!'.
struct script {
    const char *text;
    size_t piece;
};

static ssize_t gives(void *script, void *buffer, size_t size) {
    struct script *s = script;
    size_t n = strlen(s->text);
    if (*s->text == '!') {
        s->text++;
        return -EPROTO;
    }
    n = size < n ? size : n;
    n = s->piece < n ? s->piece : n;
    const char *error = memchr(s->text, '!', n);
    n = error ? (size_t)(error - s->text) : n;
    memcpy(buffer, s->text, n);
    s->text += n;
    return (ssize_t)n;
}
static const struct fin_stream_calls from_script = {.read = gives};

static char space[64], *at;

static struct fin_reader reader_of(struct script *s, size_t size) {
    struct fin_reader r;
    CHECK_EQ(fin_reader_init_from(&r, &from_script, s, space, size), 0);
    return r;
}

static FIN_BLOCKING void is_line(struct fin_reader *r, const char *text) {
    CHECK_EQ(fin_reader_line(r, &at), strlen(text));
    CHECK_EQ(strcmp(at, text), 0);
}

static FIN_BLOCKING void is_piece(struct fin_reader *r, unsigned char end, const char *text) {
    CHECK_EQ(fin_reader_until(r, end, &at), strlen(text));
    CHECK_EQ(memcmp(at, text, strlen(text)), 0);
}

static FIN_BLOCKING void lines(size_t piece, size_t size) {
    struct script s = {"one\ntwo\r\n\n\r\n\rthree\r\r\n\nfour\r", piece};
    struct fin_reader r = reader_of(&s, size);
    is_line(&r, "one");
    is_line(&r, "two");
    is_line(&r, "");
    is_line(&r, "");
    is_line(&r, "\rthree\r"); // "\r" is one only before "\n"
    is_line(&r, "");
    is_line(&r, "four\r");
    CHECK_EQ(fin_reader_line(&r, &at), -ENODATA);
    CHECK_EQ(fin_reader_line(&r, &at), -ENODATA);
    s.text = "more\n"; // as of a file that has grown
    is_line(&r, "more");
    CHECK_EQ(fin_reader_line(&r, &at), -ENODATA);
}

static FIN_BLOCKING void pieces(size_t piece, size_t size) {
    struct script s = {"a=1&bb=22&&c\n&d", piece};
    struct fin_reader r = reader_of(&s, size);
    is_piece(&r, '=', "a=");
    is_piece(&r, '&', "1&");
    is_piece(&r, '&', "bb=22&");
    is_piece(&r, '&', "&");
    is_line(&r, "c");
    is_piece(&r, '=', "&d"); // the rest
    CHECK_EQ(fin_reader_until(&r, '=', &at), -ENODATA);
}

// Which bytes have been looked at for one end says nothing of another.
static FIN_BLOCKING void other_ends(void) {
    struct script s = {"a,b", 1};
    struct fin_reader r = reader_of(&s, sizeof space);
    CHECK_EQ(fin_reader_peek(&r, 3, &at), 3);
    CHECK_EQ(fin_reader_try_until(&r, ';', &at), -EAGAIN);
    is_piece(&r, ',', "a,");
    CHECK_EQ(fin_reader_try_until(&r, 'c', &at), -EAGAIN);
    s.text = "c;";
    is_piece(&r, 'c', "bc");
    is_piece(&r, ';', ";");
}

static FIN_BLOCKING void too_long(void) {
    struct script s = {"1234567\n123456\nrest", 3};
    struct fin_reader r = reader_of(&s, 7);
    char two[2];
    CHECK_EQ(fin_reader_line(&r, &at), -EMSGSIZE);
    CHECK_EQ(fin_reader_line(&r, &at), -EMSGSIZE);
    CHECK_EQ(fin_reader_try_line(&r, &at), -EMSGSIZE);
    CHECK_EQ(fin_reader_peek(&r, 8, &at), -EMSGSIZE);
    CHECK_EQ(fin_reader_peek(&r, 7, &at), 7); // nothing was taken
    CHECK_EQ(memcmp(at, "1234567", 7), 0);
    CHECK_EQ(fin_reader_take(&r, 8), -EINVAL);
    CHECK_EQ(fin_reader_read(&r, two, sizeof two), 2);
    is_line(&r, "34567");
    is_line(&r, "123456"); // all that there is room for
    is_line(&r, "rest");
    s.text = "1234567";
    CHECK_EQ(fin_reader_line(&r, &at), -ENODATA);
    CHECK_EQ(fin_reader_line(&r, &at), -EMSGSIZE); // nobody knows that it ends here
    s.text = "";
    CHECK_EQ(fin_reader_take(&r, 1), 0);
    is_line(&r, "234567");
}

static FIN_BLOCKING void skips(size_t piece) {
    struct script s = {"1234567890\nab\n\ncd;rest", piece};
    struct fin_reader r = reader_of(&s, 4);
    CHECK_EQ(fin_reader_line(&r, &at), -EMSGSIZE);
    CHECK_EQ(fin_reader_skip(&r, '\n'), 0);
    is_line(&r, "ab");
    CHECK_EQ(fin_reader_skip(&r, '\n'), 0);
    CHECK_EQ(fin_reader_skip(&r, ';'), 0);
    is_piece(&r, 'e', "re");
    CHECK_EQ(fin_reader_skip(&r, '\n'), -ENODATA);
    CHECK_EQ(fin_reader_skip(&r, '\n'), -ENODATA);
    s.text = "a!\n";
    CHECK_EQ(fin_reader_skip(&r, '\n'), -EPROTO);
    CHECK_EQ(fin_reader_skip_nc(&r, '\n'), 0);
}

static FIN_BLOCKING void wholes(size_t piece, size_t size) {
    struct script s = {"123456789abcdef", piece};
    struct fin_reader r = reader_of(&s, size);
    char bytes[32];
    size_t done = 7;
    CHECK_EQ(fin_reader_read_all(&r, bytes, 0, &done), 0);
    CHECK_EQ(done, 0);
    CHECK_EQ(fin_reader_peek(&r, 1, &at) >= 1, 1);
    CHECK_EQ(*at, '1');
    CHECK_EQ(fin_reader_read_all(&r, bytes, 9, &done), 0);
    CHECK_EQ(done, 9);
    CHECK_EQ(memcmp(bytes, "123456789", 9), 0);
    CHECK_EQ(fin_reader_peek(&r, 0, &at) >= 0, 1);
    CHECK_EQ(fin_reader_read(&r, bytes, 0), 0);
    CHECK_EQ(fin_reader_read_all(&r, bytes, 7, &done), -ENODATA);
    CHECK_EQ(done, 6);
    CHECK_EQ(memcmp(bytes, "abcdef", 6), 0);
    CHECK_EQ(fin_reader_read_all(&r, bytes, 1, NULL), -ENODATA);
    CHECK_EQ(fin_reader_read(&r, bytes, sizeof bytes), 0);
    CHECK_EQ(fin_reader_peek(&r, 1, &at), 0);
}

// What has come is there after an error as before.
static FIN_BLOCKING void errors(void) {
    struct script s = {"ab!c\n!!d", 64};
    struct fin_reader r = reader_of(&s, sizeof space);
    size_t done;
    char bytes[4];
    CHECK_EQ(fin_reader_line(&r, &at), -EPROTO);
    CHECK_EQ(fin_reader_peek(&r, 2, &at), 2);
    is_line(&r, "abc");
    CHECK_EQ(fin_reader_read(&r, bytes, 1), -EPROTO);
    CHECK_EQ(fin_reader_read(&r, bytes, sizeof bytes), -EPROTO);
    CHECK_EQ(fin_reader_read_all(&r, bytes, 2, &done), -ENODATA);
    CHECK_EQ(done, 1);
}

static ssize_t gives_too_much(void *unused, void *buffer, size_t size) {
    (void)unused, (void)buffer;
    return (ssize_t)size + 1;
}
static ssize_t would_wait(void *unused, void *buffer, size_t size) {
    (void)unused, (void)buffer, (void)size;
    return -EAGAIN;
}

static FIN_BLOCKING void refused(void) {
    static const struct fin_stream_calls none = {0}, liar = {.read = gives_too_much}, nonblocking = {.read = would_wait};
    struct fin_reader r;
    CHECK_EQ(fin_reader_init(&r, -1, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_reader_init(&r, 0, NULL, sizeof space), -EINVAL);
    CHECK_EQ(fin_reader_init(&r, 0, space, 1), -EINVAL);
    CHECK_EQ(fin_reader_init(&r, 0, space, (size_t)INT_MAX + 1), -EINVAL);
    CHECK_EQ(fin_reader_init_from(&r, NULL, NULL, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_reader_init_from(&r, &none, NULL, space, sizeof space), -EINVAL);
    CHECK_EQ(fin_reader_init_from(&r, &liar, NULL, space, sizeof space), 0);
    CHECK_EQ(fin_reader_line(&r, &at), -EIO);
    CHECK_EQ(fin_reader_init_from(&r, &nonblocking, NULL, space, sizeof space), 0);
    CHECK_EQ(fin_reader_line(&r, &at), -EAGAIN);
    CHECK_EQ(fin_reader_init(&r, 1000, space, sizeof space), 0);
    CHECK_EQ(fin_reader_line(&r, &at), -EBADF);
}

// Others hear that the reader is in use; who is cancelled has taken nothing, and takes nothing in a cancelled block.
static FIN_BLOCKING void busy_and_cancelled(void) {
    int fd[2];
    fin_shared struct fin_reader r;
    fin_shared ssize_t n = 0;
    char c;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    CHECK_EQ(fin_reader_init(&r, fd[0], space, sizeof space), 0);
    CHECK_EQ(write(fd[1], "ab", 2), 2);
    fin_finish {
        fin_async { n = fin_reader_line(&r, &at); };
        CHECK_EQ(fin_sleep(FIN_MS), 0);
        CHECK_EQ(fin_reader_line_nc(&r, &at), -EBUSY);
        CHECK_EQ(fin_reader_read_nc(&r, &c, 1), -EBUSY);
        size_t done = 1;
        CHECK_EQ(fin_reader_read_all_nc(&r, &c, 1, &done), -EBUSY);
        CHECK_EQ(done, 0);
        CHECK_EQ(fin_reader_try_line(&r, &at), -EBUSY);
        CHECK_EQ(fin_reader_take(&r, 1), -EBUSY);
        CHECK_EQ(fin_reader_skip_nc(&r, 'a'), -EBUSY);
        fin_cancel();
    }
    CHECK_EQ(n, -ECANCELED);
    CHECK_EQ(write(fd[1], "c\nd\n", 4), 4);
    is_line(&r, "abc");
    fin_finish {
        size_t done = 1;
        fin_cancel();
        CHECK_EQ(fin_reader_line(&r, &at), -ECANCELED);
        CHECK_EQ(fin_reader_until(&r, 'd', &at), -ECANCELED);
        CHECK_EQ(fin_reader_peek(&r, 1, &at), -ECANCELED);
        CHECK_EQ(fin_reader_read(&r, &c, 1), -ECANCELED);
        CHECK_EQ(fin_reader_skip(&r, 'd'), -ECANCELED);
        CHECK_EQ(fin_reader_read_all(&r, &c, 1, &done), -ECANCELED);
        CHECK_EQ(done, 0);
        CHECK_EQ(fin_reader_until_nc(&r, 'd', &at), 1);
        CHECK_EQ(write(fd[1], "x;\n", 3), 3);
        CHECK_EQ(fin_reader_skip_nc(&r, ';'), 0);
        CHECK_EQ(fin_reader_peek_nc(&r, 1, &at), 1);
        CHECK_EQ(fin_reader_try_line(&r, &at), 0);
        CHECK_EQ(fin_reader_try_line(&r, &at), -EAGAIN);
    }
    close(fd[0]);
    close(fd[1]);
}

int main(void) {
    for (size_t piece = 1; piece < 40; piece++) {
        for (size_t size = 20; size <= sizeof space; size++) {
            lines(piece, size);
            pieces(piece, size);
        }
        skips(piece);
        for (size_t size = 2; size <= sizeof space; size++)
            wholes(piece, size);
    }
    other_ends();
    too_long();
    errors();
    refused();
    busy_and_cancelled();
    return 0;
}
