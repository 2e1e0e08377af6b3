/* One stream: counted, captured up to the cap, passed on to sinks of every temper; never blocking. */
#include "supervisor/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../harness.h"

struct setup {
    struct stream stream;
    struct result_stream record;
    int feed; /* the payload's end */
};

static void begin(struct setup *s, int to, bool capture, uint64_t cap)
{
    int fds[2];
    CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
    CHECK_INT(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    s->record = (struct result_stream){.captured = BUF_INIT(1 << 20)};
    stream_open(&s->stream, fds[0], to, &s->record);
    s->stream.capture = capture;
    s->stream.cap = cap;
    s->feed = fds[1];
    alarm(20); /* whatever blocks ends here */
}

static void feed(struct setup *s, const char *text)
{
    CHECK_INT(write(s->feed, text, strlen(text)), (long long)strlen(text));
}

/* What a loop around an epoll would do, without one. */
static void pump(struct setup *s)
{
    uint64_t before;
    do {
        before = s->record.bytes;
        stream_write(&s->stream);
        if (stream_read(&s->stream) < 0)
            return;
    } while (s->record.bytes != before);
}

static void end(struct setup *s)
{
    close(s->feed);
    stream_close(&s->stream);
    buf_free(&s->record.captured);
}

static void captured(struct setup *s, const char *want)
{
    CHECK_INT(s->record.captured.len, (long long)strlen(want));
    CHECK(memcmp(s->record.captured.data, want, strlen(want)) == 0);
}

TEST(exactly_the_cap_is_not_truncated_and_one_more_byte_is)
{
    struct setup s;
    begin(&s, -1, true, 5);
    feed(&s, "12345");
    pump(&s);
    CHECK(!s.record.truncated);
    captured(&s, "12345");
    feed(&s, "6");
    pump(&s);
    CHECK(s.record.truncated);
    captured(&s, "12345");
    CHECK_INT(s.record.bytes, 6); /* draining goes on */
    feed(&s, "789");
    pump(&s);
    CHECK_INT(s.record.bytes, 9);
    captured(&s, "12345");
    end(&s);
}

TEST(the_cap_cuts_inside_one_write_too)
{
    struct setup s;
    begin(&s, -1, true, 3);
    feed(&s, "1234567");
    pump(&s);
    captured(&s, "123");
    CHECK(s.record.truncated);
    end(&s);
}

TEST(capturing_and_passing_on_are_both_whole)
{
    struct setup s;
    int out[2];
    char got[16];
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    begin(&s, out[1], true, 3);
    feed(&s, "123456");
    pump(&s);
    captured(&s, "123"); /* the cap holds for what is captured ... */
    CHECK_INT(read(out[0], got, sizeof got), 6); /* ... and not for what passes */
    CHECK(memcmp(got, "123456", 6) == 0);
    end(&s);
}

TEST(a_cap_that_was_asked_for_by_name_cuts_what_passes_too)
{
    struct setup s;
    int out[2];
    char got[16];
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    begin(&s, out[1], false, 3);
    s.stream.cap_passing = true;
    feed(&s, "12");
    pump(&s);
    CHECK(!s.record.truncated);
    feed(&s, "3456");
    pump(&s);
    CHECK(s.record.truncated);
    CHECK_INT(read(out[0], got, sizeof got), 3);
    CHECK_INT(s.record.bytes, 6);
    CHECK_INT(s.record.captured.len, 0);
    end(&s);
}

TEST(the_end_of_the_payload_is_the_end_of_the_stream)
{
    struct setup s;
    begin(&s, -1, true, 100);
    CHECK_INT(stream_read(&s.stream), 0); /* nothing there: not the end */
    feed(&s, "x");
    close(s.feed);
    CHECK_INT(stream_read(&s.stream), 0);
    CHECK_INT(stream_read(&s.stream), -EPIPE);
    CHECK_INT(s.stream.from, -1);
    CHECK_INT(stream_read(&s.stream), -EPIPE); /* and stays so */
    captured(&s, "x");
    s.feed = -1;
    end(&s);
}

/* A reader that sleeps: pending data stays, reading pauses, nobody waits, nothing is lost. */
TEST(a_slow_sink_stops_the_reading_and_gets_every_byte)
{
    struct setup s;
    int out[2];
    static char chunk[STREAM_CHUNK];
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    CHECK(fcntl(out[1], F_SETPIPE_SZ, 4096) >= 4096);
    begin(&s, out[1], false, UINT64_MAX);
    memset(chunk, 'a', sizeof chunk);
    CHECK_INT(write(s.feed, chunk, 40000), 40000);
    pump(&s);
    CHECK(stream_pending(&s.stream));
    CHECK_INT(s.stream.sink, SINK_OWN);
    const uint64_t seen = s.record.bytes;
    CHECK_INT(write(s.feed, chunk, 100), 100);
    CHECK_INT(stream_read(&s.stream), 0); /* room first */
    CHECK_INT(s.record.bytes, seen);
    size_t got = 0;
    while (got < 40100) {
        pump(&s);
        ssize_t n = read(out[0], chunk, sizeof chunk);
        CHECK(n > 0);
        got += (size_t)n;
    }
    CHECK_INT(got, 40100);
    CHECK(!stream_pending(&s.stream));
    CHECK_INT(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0); /* the caller's description is as it was */
    end(&s);
}

TEST(a_reader_that_went_away_ends_the_payloads_pipe)
{
    struct setup s;
    int out[2];
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    begin(&s, out[1], false, UINT64_MAX);
    close(out[0]);
    feed(&s, "x");
    pump(&s);
    CHECK(s.stream.broken);
    CHECK_INT(s.stream.from, -1);
    CHECK_ERRNO(write(s.feed, "y", 1), EPIPE); /* as it would be without us */
    end(&s);
}

TEST(capturing_goes_on_when_the_reader_went_away)
{
    struct setup s;
    int out[2];
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    begin(&s, out[1], true, UINT64_MAX);
    close(out[0]);
    feed(&s, "one ");
    pump(&s);
    CHECK(s.stream.broken);
    feed(&s, "two");
    pump(&s);
    captured(&s, "one two");
    end(&s);
}

TEST(a_full_disk_is_remembered_with_its_reason)
{
    struct setup s;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK(full >= 0);
    begin(&s, full, false, UINT64_MAX);
    feed(&s, "x");
    pump(&s);
    CHECK(s.stream.broken);
    CHECK_INT(s.stream.error, ENOSPC);
    end(&s);
}

TEST(a_file_takes_everything_at_once)
{
    struct setup s;
    char name[] = "/tmp/cordon-stream-XXXXXX";
    int file = mkostemp(name, O_CLOEXEC);
    CHECK(file >= 0);
    unlink(name);
    begin(&s, file, false, UINT64_MAX);
    feed(&s, "to a file");
    pump(&s);
    CHECK_INT(s.stream.sink, SINK_FILE);
    char got[16] = "";
    CHECK_INT(pread(file, got, sizeof got, 0), 9);
    CHECK_STR(got, "to a file");
    end(&s);
}

TEST(a_socket_is_asked_not_to_block_and_stays_as_it_was)
{
    struct setup s;
    int pair[2];
    static char chunk[STREAM_CHUNK];
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    int small = 2048;
    CHECK_INT(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    begin(&s, pair[0], false, UINT64_MAX);
    CHECK_INT(write(s.feed, chunk, 60000), 60000);
    pump(&s); /* fills it, and comes back */
    CHECK_INT(s.stream.sink, SINK_SOCKET);
    CHECK(stream_pending(&s.stream));
    CHECK_INT(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
    size_t got = 0;
    while (got < 60000) {
        ssize_t n = read(pair[1], chunk, sizeof chunk);
        CHECK(n > 0);
        got += (size_t)n;
        pump(&s);
    }
    close(pair[1]);
    feed(&s, "nobody"); /* and no SIGPIPE: the default would end this test */
    pump(&s);
    CHECK(s.stream.broken);
    end(&s);
}

/* Where the pipe cannot be opened again: small writes, only when there is room. */
TEST(a_description_that_is_shared_and_blocks_is_written_only_when_ready)
{
    struct setup s;
    int out[2];
    static char chunk[STREAM_CHUNK];
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    begin(&s, out[1], false, UINT64_MAX);
    s.stream.sink = SINK_FOREIGN; /* as if opening it again had failed */
    s.stream.out = out[1];
    CHECK_INT(fcntl(s.feed, F_SETFL, O_NONBLOCK), 0);
    while (write(s.feed, chunk, 4096) == 4096)
        pump(&s);
    CHECK(stream_pending(&s.stream)); /* full, and still here */
    end(&s);
}
