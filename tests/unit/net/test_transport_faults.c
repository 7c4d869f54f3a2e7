/* test_transport_faults.c - servers that hang up, answer too early, or are not there; in both kinds
 * of transport. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport_rig.h"

/* --- connections that die --- */

static const struct peer_step once_then_close[] = {
    {.what = PEER_REQUEST}, {.what = PEER_SEND, .text = OK_HI}, {.what = PEER_CLOSE, .n = 1}};
static const struct peer_step once_then_silence[] = {{.what = PEER_REQUEST},
                                                     {.what = PEER_SEND, .text = OK_HI},
                                                     {.what = PEER_REQUEST},
                                                     {.what = PEER_CLOSE}};
static const struct peer_step silence[] = {{.what = PEER_REQUEST}, {.what = PEER_CLOSE}};

/* Closed while idle, and we could know: a new connection, and no word about it. */
static void test_idle_connection_closed(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (int open_ahead = 0; open_ahead < 2; open_ahead++) {
            struct rig r;
            rig_init(&r, kinds[k], SCRIPTS(once_then_close, answer_all), NULL);
            exchange(&r, &post);
            peer_wait(r.peer);
            if (open_ahead) {
                lane_open(r.lane);
                turn_until(&r, &r.opens, 1);
            }
            exchange(&r, &post);
            expect(&r, "200 text/plain;hi;end;");
            assert_int_equal(peer_connections(r.peer), 2);
            assert_false(lane_times(r.lane)->retried);
            assert_int_equal(lane_times(r.lane)->connect_ns > 0, !open_ahead);
            rig_release(&r);
        }
}

/* It dies between lane_open and the turn in which on_open is due: that is another connection. */
static void test_closed_while_opening(void **state)
{
    static const struct peer_step script[] = {{.what = PEER_REQUEST},
                                              {.what = PEER_SEND, .text = OK_HI},
                                              {.what = PEER_AWAIT},
                                              {.what = PEER_CLOSE, .n = 1}};
    struct rig r;
    (void)state;
    rig_init(&r, "own", SCRIPTS(script, answer_all), NULL);
    exchange(&r, &post);
    lane_open(r.lane);
    peer_go(r.peer);
    peer_wait(r.peer);
    turn_until(&r, &r.opens, 1);
    loop_turn(r.loop, 0);
    assert_int_equal(r.opens, 1);
    assert_int_equal(r.ends, 1); /* the exchange's own */
    exchange(&r, &post);
    expect(&r, "200 text/plain;hi;end;");
    assert_int_equal(peer_connections(r.peer), 2);
    rig_release(&r);
}

static void expect_no_answer(const struct rig *r)
{
    assert_int_equal(r->code, ERR_CLOSED);
    if (!strstr(r->told.p, "the server closed the connection without an answer"))
        fail_msg("%s: told '%s'", r->kind, r->told.p);
}

/* Closed just as we sent: once more on a new connection, flagged. Never more than once, and never
 * on a connection that had not served before. */
static void test_closed_as_we_sent(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        rig_init(&r, kinds[k], SCRIPTS(once_then_silence, answer_all), NULL);
        exchange(&r, &post);
        exchange(&r, &post);
        expect(&r, "200 text/plain;hi;end;");
        assert_true(lane_times(r.lane)->retried);
        assert_true(lane_times(r.lane)->connect_ns > 0);
        assert_true(lane_times(r.lane)->sent_at >= lane_times(r.lane)->send_at);
        exchange(&r, &post); /* the flag is of that exchange only */
        assert_false(lane_times(r.lane)->retried);
        assert_int_equal(peer_connections(r.peer), 2);
        rig_release(&r);

        rig_init(&r, kinds[k], SCRIPTS(once_then_silence, silence, answer_all), NULL);
        exchange(&r, &post);
        exchange(&r, &post);
        expect_no_answer(&r);
        assert_int_equal(peer_connections(r.peer), 2);
        exchange(&r, &post); /* and the lane lives on */
        expect(&r, "200 text/plain;hi;end;");
        rig_release(&r);

        rig_init(&r, kinds[k], SCRIPTS(silence), NULL);
        exchange(&r, &post);
        expect_no_answer(&r);
        assert_false(lane_times(r.lane)->retried);
        rig_release(&r);
    }
}

#define CUT_SHORT ";error 5 the server closed the connection in the middle of its answer;"

static void test_cut_in_the_middle(void **state)
{
    static const struct {
        const char *sent, *told;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "200 ;half" CUT_SHORT},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
         "200 ;half" CUT_SHORT},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", "200 ;half" CUT_SHORT},
    };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            for (int reset = 0; reset < 2; reset++) {
                const struct peer_step script[] = {
                    {.what = PEER_REQUEST},
                    {.what = PEER_SEND, .text = rows[i].sent},
                    {.what = PEER_AWAIT}, /* a reset may overtake what was sent */
                    {.what = reset ? PEER_RESET : PEER_CLOSE}};
                struct rig r;
                rig_init(&r, kinds[k], SCRIPTS(script, answer_all), NULL);
                buf_reset(&r.told);
                lane_send(r.lane, &post);
                turn_until(&r, &r.bodies, 1);
                peer_go(r.peer);
                turn_until(&r, &r.ends, 1);
                assert_int_equal(r.code, ERR_CLOSED);
                if (!reset)
                    expect(&r, rows[i].told);
                assert_memory_equal(r.told.p, rows[i].told, sizeof "200 ;half" - 1);
                exchange(&r, &post); /* nothing is repeated, the next one is a new one */
                expect(&r, "200 text/plain;hi;end;");
                assert_false(lane_times(r.lane)->retried);
                assert_int_equal(peer_connections(r.peer), 2);
                rig_release(&r);
            }
}

static void test_not_http(void **state)
{
    static const struct peer_step script[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = "SSH-2.0-OpenSSH_9.2\r\n"},
        {.what = PEER_CLOSE}};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        rig_init(&r, kinds[k], SCRIPTS(script), NULL);
        exchange(&r, &post);
        assert_int_equal(r.code, ERR_PROTOCOL);
        assert_int_equal(r.heads, 0);
        rig_release(&r);
    }
}

/* --- answers that do not wait for the whole request --- */

#define TOO_LARGE "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n"

/* The server reads a little, says no, and hangs up or reads on: either way its word arrives, and
 * the rest of our request is not taken for the next one. */
static void test_early_answer(void **state)
{
    enum { BODY = 32 << 20, TIMES = 10 }; /* more than the kernel keeps for two sockets */
    static const struct peer_step hangs_up[] = {
        {.what = PEER_READ, .n = 100},
        {.what = PEER_SEND, .text = TOO_LARGE "Connection: close\r\n\r\nno!"},
        {.what = PEER_CLOSE}};
    static const struct peer_step reads_on[] = {{.what = PEER_READ, .n = 100},
                                                {.what = PEER_SEND, .text = TOO_LARGE "\r\nno!"},
                                                {.what = PEER_AWAIT},
                                                {.what = PEER_GONE},
                                                {.what = PEER_END}};
    static const struct peer_step *const firsts[] = {hangs_up, reads_on};
    char *text = mem_array(BODY, 1);
    const struct http_request large = {
        .method = "POST", .path = "/", .body = {{text, BODY}}, .body_parts = 1};

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(firsts); i++)
            for (int time = 0; time < TIMES; time++) {
                struct rig r;
                rig_init(&r, kinds[k], SCRIPTS(firsts[i], answer_all), NULL);
                exchange(&r, &large);
                peer_go(r.peer);
                if (strcmp(kinds[k], "own") == 0) /* libcurl stops at its first failed send */
                    expect(&r, "413 ;no!;end;");
                exchange(&r, &post);
                expect(&r, "200 text/plain;hi;end;");
                assert_int_equal(peer_connections(r.peer), 2);
                rig_release(&r);
            }
    free(text);
}

/* --- no connection --- */

static void test_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (int unix_socket = 0; unix_socket < 2; unix_socket++) {
            const struct peer_options options = {.unix_socket = unix_socket};
            struct rig r;
            rig_init(&r, kinds[k], SCRIPTS(answer_all), &options);
            peer_stop(r.peer);
            r.peer = NULL;
            lane_open(r.lane);
            turn_until(&r, &r.ends, 1);
            assert_int_equal(r.code, ERR_CONNECT);
            exchange(&r, &post);
            assert_int_equal(r.code, ERR_CONNECT);
            assert_non_null(strstr(r.told.p, "cannot connect"));
            assert_int_equal(r.opens, 0);
            rig_release(&r);
        }
}

/* A socket that listens and never accepts, with its queue full: nobody answers. */
static void test_no_answer_to_the_connection(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof in;
        int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), guests[8];
        struct rig r;

        rig_init(&r, kinds[k], SCRIPTS(answer_all), NULL);
        assert_int_equal(bind(listening, (struct sockaddr *)&in, sizeof in), 0);
        assert_int_equal(listen(listening, 0), 0);
        assert_int_equal(getsockname(listening, (struct sockaddr *)&in, &size), 0);
        for (size_t i = 0; i < ARRAY_LEN(guests); i++) {
            guests[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            (void)!connect(guests[i], (struct sockaddr *)&in, sizeof in);
        }
        memcpy(&r.endpoint.addr, &in, sizeof in);
        snprintf(r.endpoint.url.port, sizeof r.endpoint.url.port, "%d", ntohs(in.sin_port));
        r.endpoint.options.connect_timeout_ns = 50 * NS_PER_MS;
        exchange(&r, &post);
        assert_int_equal(r.code, ERR_TIMEOUT);
        lane_open(r.lane);
        turn_until(&r, &r.ends, 2);
        assert_int_equal(r.code, ERR_TIMEOUT);
        for (size_t i = 0; i < ARRAY_LEN(guests); i++)
            close(guests[i]);
        close(listening);
        rig_release(&r);
    }
}

static void test_certificates(void **state)
{
    static const struct {
        const char *name;
        bool trust, insecure, works;
    } rows[] = {
        {"IP:127.0.0.1", true, false, true},  {"IP:127.0.0.1", false, false, false},
        {"IP:127.0.0.2", true, false, false}, {"DNS:localhost", true, false, false},
        {"DNS:localhost", false, true, true},
    };
    static const struct peer_step *const scripts[] = {answer_all};

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const struct peer_options options = {.tls = rows[i].name};
            struct rig r = {.kind = kinds[k], .loop = loop_new(NULL)};
            r.peer = peer_start(scripts, 1, &options);
            buf_init(&r.told, 4096);
            peer_endpoint(r.peer, &r.endpoint, rows[i].trust);
            r.endpoint.options.insecure = rows[i].insecure;
            if (rows[i].insecure) { /* the endpoint's context is made for it: make it anew */
                struct url url = r.endpoint.url;
                const struct endpoint_options how = {.connect_timeout_ns = NS_PER_S,
                                                     .insecure = true};
                endpoint_close(&r.endpoint);
                assert_true(endpoint_open(&r.endpoint, &url, &how, NULL));
            }
            r.transport = transport_new(kinds[k], r.loop, &r.endpoint, NULL);
            r.lane = lane_new(r.transport, &events, &r);
            exchange(&r, &post);
            if (rows[i].works)
                expect(&r, "200 text/plain;hi;end;");
            else if (r.code != ERR_CONNECT || !strstr(r.told.p, "certificate"))
                fail_msg("%s, row %zu: %s", kinds[k], i, r.told.p);
            rig_release(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_connection_closed),
        cmocka_unit_test(test_closed_while_opening),
        cmocka_unit_test(test_closed_as_we_sent),
        cmocka_unit_test(test_cut_in_the_middle),
        cmocka_unit_test(test_not_http),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_answer_to_the_connection),
        cmocka_unit_test(test_certificates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
