/* test_transport.c - exchanges over a lane, in both kinds of transport: what the caller is told,
 * word for word, is the same. */
#include <stdio.h>

#include "transport_rig.h"

/* --- what works --- */

static void test_one_connection_serves_many(void **state)
{
    static const struct peer_options options[] = {
        {.tls = NULL}, {.unix_socket = true}, {.tls = "IP:127.0.0.1"}};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(options); i++) {
            struct rig r;
            rig_init(&r, kinds[k], SCRIPTS(answer_all), &options[i]);
            lane_open(r.lane);
            assert_int_equal(r.opens, 0);
            turn_until(&r, &r.opens, 1);
            int64_t before = clock_now();
            exchange(&r, &post);
            expect(&r, "200 text/plain;hi;end;");
            assert_int_equal(lane_times(r.lane)->connect_ns, 0); /* it was open */
            assert_true(lane_times(r.lane)->send_at >= before);
            assert_true(lane_times(r.lane)->sent_at >= lane_times(r.lane)->send_at);
            assert_true(r.end_at >= r.head_at && r.head_at >= lane_times(r.lane)->sent_at);
            exchange(&r, &get);
            expect(&r, "200 text/plain;hi;end;");
            lane_open(r.lane); /* open already: told all the same, from the next turn */
            assert_int_equal(r.opens, 0);
            turn_until(&r, &r.opens, 1);
            assert_int_equal(peer_connections(r.peer), 1);
            assert_false(lane_times(r.lane)->retried);
            rig_release(&r);
        }
}

/* Both kinds send the same head but for the order of its lines. */
static void test_the_request(void **state)
{
    static const char *const lines[] = {
        "POST /openai/v1/x HTTP/1.1\r\n", "Host: 127.0.0.1:",
        "User-Agent: tokgrid/",           "Accept: text/event-stream, application/json\r\n",
        "Accept-Encoding: identity\r\n",  "Cache-Control: no-cache\r\n",
        "Authorization: Bearer sk-1\r\n", "Content-Type: application/json\r\n",
        "Content-Length: 7\r\n",          "\r\n\r\n{\"a\":1}"};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        char key[] = "sk-1";
        size_t newlines = 0;
        rig_init(&r, kinds[k], SCRIPTS(answer_all), NULL);
        snprintf(r.endpoint.url.prefix, sizeof r.endpoint.url.prefix, "/openai");
        r.endpoint.options.api_key = key;
        exchange(&r, &post);
        char *sent = peer_request_dup(r.peer);
        for (size_t i = 0; i < ARRAY_LEN(lines); i++)
            if (!strstr(sent, lines[i]))
                fail_msg("%s lacks '%s':\n%s", kinds[k], lines[i], sent);
        for (const char *p = sent; *p; p++)
            newlines += *p == '\n';
        assert_int_equal(newlines, 10); /* and nothing else: no Expect, no Connection */
        free(sent);
        r.endpoint.options.api_key = NULL; /* it was never the endpoint's to free */
        rig_release(&r);
    }
}

static void test_megabyte_body(void **state)
{
    enum { BODY = 1 << 20 };
    static const struct peer_options options[] = {
        {.tls = NULL}, {.unix_socket = true}, {.tls = "IP:127.0.0.1"}};
    char *text = mem_array(BODY + 1, 1);

    (void)state;
    memset(text, 'x', BODY);
    const struct http_request large = {
        .method = "POST", .path = "/", .body = {{"[", 1}, {text, BODY}, {"]", 1}}, .body_parts = 3};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(options); i++) {
            struct rig r;
            rig_init(&r, kinds[k], SCRIPTS(answer_all), &options[i]);
            for (int time = 1; time <= 2; time++) {
                size_t before = peer_received(r.peer);
                exchange(&r, &large);
                expect(&r, "200 text/plain;hi;end;");
                assert_true(peer_received(r.peer) - before > BODY + 2);
                assert_true(lane_times(r.lane)->sent_at >= lane_times(r.lane)->send_at);
                assert_int_equal(lane_times(r.lane)->connect_ns > 0, time == 1);
            }
            assert_int_equal(peer_connections(r.peer), 1);
            rig_release(&r);
        }
    free(text);
}

/* One answer each: what is told, and whether the connection is used for the next request. */
static void test_answers(void **state)
{
    static const struct {
        struct peer_step script[5];
        const char *told;
        int connections; /* after a second request */
    } rows[] = {
        {{{.what = PEER_REQUEST}, {.what = PEER_SEND, .text = OK_YO}, {.what = PEER_AGAIN}},
         "200 ;yo;end;",
         1},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND,
           .text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\ny\r\n"},
          {.what = PEER_SEND, .text = "1\r\no\r\n0\r\n\r\n"},
          {.what = PEER_AGAIN}},
         "200 ;yo;end;",
         1},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\n\r\nyo"},
          {.what = PEER_CLOSE}},
         "200 ;yo;end;",
         2},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND,
           .text = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nyo"},
          {.what = PEER_CLOSE}},
         "200 ;yo;end;",
         2},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND,
           .text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"},
          {.what = PEER_AGAIN}},
         "204 ;;end;",
         1},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND,
           .text = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /Else;x y\r\n"
                   "Content-Type: Text/HTML ; charset=x\r\nContent-Length: 0\r\n\r\n"},
          {.what = PEER_AGAIN}},
         "307 text/html /Else;x y;;end;",
         1},
        {{{.what = PEER_REQUEST},
          {.what = PEER_SEND, .text = OK_YO "HTTP/1.1 200 OK\r\n"},
          {.what = PEER_GONE}},
         "200 ;yo;end;",
         2},
    };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct rig r;
            rig_init(&r, kinds[k], SCRIPTS(rows[i].script), NULL);
            for (int time = 0; time < 2; time++) {
                exchange(&r, &post);
                expect(&r, rows[i].told);
            }
            assert_int_equal(peer_connections(r.peer), rows[i].connections);
            rig_release(&r);
        }
}

/* From on_end the lane may be used again at once. */
static void test_send_from_the_end(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        rig_init(&r, kinds[k], SCRIPTS(answer_all), NULL);
        r.next = &get;
        lane_send(r.lane, &post);
        turn_until(&r, &r.ends, 2);
        expect(&r, "200 text/plain;hi;end;200 text/plain;hi;end;");
        assert_int_equal(peer_connections(r.peer), 1);
        rig_release(&r);
    }
}

/* --- cancelling --- */

static void test_cancel(void **state)
{
    static const struct peer_step half[] = {
        {.what = PEER_REQUEST},
        {.what = PEER_SEND, .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"},
        {.what = PEER_GONE},
        {.what = PEER_TELL},
        {.what = PEER_END}};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        rig_init(&r, kinds[k], SCRIPTS(half, answer_all), NULL);
        lane_cancel(r.lane); /* nothing to cancel */
        lane_send(r.lane, &post);
        turn_until(&r, &r.bodies, 1);
        lane_cancel(r.lane);
        assert_false(r.lane->busy);
        peer_wait(r.peer); /* it sees the connection's end at once */
        loop_turn(r.loop, 0);
        expect(&r, "200 ;half");
        exchange(&r, &post);
        expect(&r, "200 text/plain;hi;end;");
        assert_false(lane_times(r.lane)->retried);
        rig_release(&r);
    }
}

/* Before the connection is up, between open and send, and with the request half sent. */
static void test_cancel_at_other_times(void **state)
{
    enum { BODY = 8 << 20 };
    static const struct peer_step reads_little[] = {
        {.what = PEER_READ, .n = 1}, {.what = PEER_TELL}, {.what = PEER_GONE}, {.what = PEER_END}};
    char *text = mem_array(BODY, 1);
    const struct http_request large = {
        .method = "POST", .path = "/", .body = {{text, BODY}}, .body_parts = 1};

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct rig r;
        rig_init(&r, kinds[k], SCRIPTS(reads_little, answer_all), NULL);
        lane_send(r.lane, &large);
        int64_t give_up_at = clock_now() + 10 * NS_PER_S;
        while (peer_received(r.peer) == 0 && clock_now() < give_up_at)
            loop_turn(r.loop, clock_now() + NS_PER_MS);
        peer_wait(r.peer);
        lane_cancel(r.lane);
        loop_turn(r.loop, 0);
        expect(&r, "");
        exchange(&r, &post);
        expect(&r, "200 text/plain;hi;end;");
        rig_release(&r);

        rig_init(&r, kinds[k], SCRIPTS(answer_all), NULL);
        lane_open(r.lane);
        lane_cancel(r.lane);
        lane_send(r.lane, &post);
        lane_cancel(r.lane);
        for (int turn = 0; turn < 5; turn++)
            loop_turn(r.loop, clock_now() + NS_PER_MS);
        expect(&r, "");
        lane_open(r.lane); /* not waited for */
        exchange(&r, &post);
        assert_non_null(strstr(r.told.p, "200 text/plain;hi;end;"));
        assert_int_equal(r.ends, 1);
        lane_send(r.lane, &post);
        rig_release(&r); /* freed while busy */
    }
    free(text);
}

static void test_unknown_kind(void **state)
{
    struct err err = {0};
    (void)state;
    assert_null(transport_new("carrier pigeon", NULL, NULL, &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "own, curl"));
    transport_free(NULL);
    lane_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_connection_serves_many),
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_megabyte_body),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_send_from_the_end),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_at_other_times),
        cmocka_unit_test(test_unknown_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
