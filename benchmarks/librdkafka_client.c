/*
 * librdkafka as a load generator: produce, consume, paced produce latency, end-to-end latency.
 *
 *   librdkafka_client produce    BOOTSTRAP TOPIC PARTITIONS COUNT SIZE BATCH_BYTES
 *   librdkafka_client consume    BOOTSTRAP TOPIC PARTITIONS COUNT
 *   librdkafka_client latency    BOOTSTRAP TOPIC COUNT SIZE RATE
 *   librdkafka_client end-to-end BOOTSTRAP TOPIC COUNT SIZE RATE
 *
 * One JSON object on stdout. It links with the library inside the confluent-kafka wheel, which
 * brings no header file; what is used of librdkafka's stable interface is declared here.
 * Consuming uses no group.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct {
    int err;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *_private;
} rd_kafka_message_t;

enum { PRODUCER = 0, CONSUMER = 1, MSG_F_COPY = 0x2, OFFSET_BEGINNING = -2, OFFSET_END = -1 };
enum { ERR_QUEUE_FULL = -184, ERR_PARTITION_EOF = -191, CHUNK = 1000 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
void rd_kafka_conf_set_dr_msg_cb(
    rd_kafka_conf_t *, void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
int rd_kafka_produce(
    rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
int rd_kafka_produce_batch(rd_kafka_topic_t *, int32_t, int, rd_kafka_message_t *, int);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_flush(rd_kafka_t *, int);
int rd_kafka_outq_len(rd_kafka_t *);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
rd_kafka_message_t *rd_kafka_consume_queue(rd_kafka_queue_t *, int);
void rd_kafka_message_destroy(rd_kafka_message_t *);

static long delivered, failed;
static double *latencies;
static long latency_count;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what) {
    fprintf(stderr, "librdkafka_client: %s\n", what);
    exit(1);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    if (message->err) {
        failed++;
        return;
    }
    delivered++;
    if (latencies != NULL && message->_private == NULL) {
        double sent;
        memcpy(&sent, message->payload, sizeof sent);
        latencies[latency_count++] = now() - sent;
    }
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != 0) fail(error);
}

static rd_kafka_t *client(int kind, rd_kafka_conf_t *conf, const char *bootstrap) {
    char error[512];
    set(conf, "bootstrap.servers", bootstrap);
    set(conf, "log_level", "3");
    rd_kafka_t *rk = rd_kafka_new(kind, conf, error, sizeof error);
    if (rk == NULL) fail(error);
    return rk;
}

/* Random bytes, so that nothing on the way can profit from a pattern. */
static char *payload(size_t size) {
    char *data = malloc(size);
    uint32_t state = 2463534242u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        data[i] = (char)state;
    }
    return data;
}

static void produce(char **arg) {
    const char *bootstrap = arg[0], *topic = arg[1];
    long partitions = atol(arg[2]), count = atol(arg[3]), size = atol(arg[4]);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "batch.size", arg[5]);
    set(conf, "batch.num.messages", "1000000");
    set(conf, "queue.buffering.max.messages", "1000000");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *rk = client(PRODUCER, conf, bootstrap);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    char *data = payload((size_t)size);
    static rd_kafka_message_t messages[CHUNK];
    double began = now();
    for (long sent = 0, turn = 0; sent < count; turn++) {
        long wanted = count - sent < CHUNK ? count - sent : CHUNK;
        for (long i = 0; i < wanted; i++) {
            messages[i] = (rd_kafka_message_t){.payload = data, .len = (size_t)size};
        }
        long done = rd_kafka_produce_batch(
            rkt, (int32_t)(turn % partitions), 0, messages, (int)wanted);
        for (long i = 0; i < wanted; i++) {
            if (messages[i].err && messages[i].err != ERR_QUEUE_FULL) fail("produce refused");
        }
        sent += done;
        rd_kafka_poll(rk, done < wanted ? 5 : 0);
    }
    rd_kafka_flush(rk, 120000);
    double seconds = now() - began;
    printf("{\"records\": %ld, \"failed\": %ld, \"seconds\": %.6f}\n",
           delivered, count - delivered, seconds);
}

static rd_kafka_queue_t *start(
        rd_kafka_t *rk, const char *topic, long partitions, int64_t offset) {
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    for (long i = 0; i < partitions; i++) {
        if (rd_kafka_consume_start_queue(rkt, (int32_t)i, offset, queue) != 0) fail("start");
    }
    return queue;
}

/* The clock starts with the first records: finding the partitions is not what is measured. */
static void consume(char **arg) {
    long partitions = atol(arg[2]), count = atol(arg[3]), found = 0, at_start = 0;
    rd_kafka_t *rk = client(CONSUMER, rd_kafka_conf_new(), arg[0]);
    static rd_kafka_message_t *messages[CHUNK];
    double began = now(), last = began, first = 0;
    rd_kafka_queue_t *queue = start(rk, arg[1], partitions, OFFSET_BEGINNING);
    while (found < count) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, 20, messages, CHUNK);
        for (ssize_t i = 0; i < n; i++) {
            if (!messages[i]->err) found++;
            rd_kafka_message_destroy(messages[i]);
        }
        if (n > 0) last = now();
        if (first == 0 && found > 0) {
            first = last;
            at_start = found;
        }
        if (now() - last > 30) fail("no records for 30 s");
    }
    double share = (double)(found - at_start) / (double)found;
    if (share <= 0) fail("all records came at once: too few to measure");
    printf("{\"records\": %ld, \"failed\": 0, \"seconds\": %.6f}\n", found, (last - first) / share);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double q) {
    long index = (long)((double)latency_count * q);
    return latencies[index < latency_count ? index : latency_count - 1] * 1000;
}

static void print_latencies(void) {
    if (latency_count == 0) fail("nothing was measured");
    qsort(latencies, (size_t)latency_count, sizeof *latencies, by_size);
    printf("{\"records\": %ld, \"failed\": %ld, \"p50_ms\": %.4f, \"p99_ms\": %.4f, "
           "\"p999_ms\": %.4f, \"max_ms\": %.4f}\n", latency_count, failed, quantile(0.5),
           quantile(0.99), quantile(0.999), quantile(1.0));
}

static void *serve_deliveries(void *rk) {
    for (;;) rd_kafka_poll(rk, 1000);
    return NULL;
}

static void sleep_until(double due) {
    struct timespec at = {(time_t)due, (long)((due - (double)(time_t)due) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/*
 * The records of the first one and a half seconds are not measured: connections get made, and the
 * consumer finds its place.
 * Deliveries are served by a thread of their own, so that pacing does not delay them.
 */
static void send_paced(rd_kafka_t *rk, const char *topic, long count, long size, double rate,
                       void *unmeasured) {
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    char *data = payload((size_t)size);
    pthread_t server;
    pthread_create(&server, NULL, serve_deliveries, rk);
    long first = (long)(1.5 * rate);
    double began = now();
    for (long i = 0; i < first + count; i++) {
        sleep_until(began + (double)i / rate);
        void *mark = i < first ? unmeasured : NULL;
        double sent = mark != NULL ? 0 : now();
        memcpy(data, &sent, sizeof sent);
        if (rd_kafka_produce(rkt, 0, MSG_F_COPY, data, (size_t)size, NULL, 0, mark) != 0) {
            fail("produce refused");
        }
    }
    for (double limit = now() + 30; rd_kafka_outq_len(rk) > 0 && now() < limit;) {
        sleep_until(now() + 0.001);
    }
}

static rd_kafka_t *low_latency_producer(const char *bootstrap) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "linger.ms", "0");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    return client(PRODUCER, conf, bootstrap);
}

static void latency(char **arg) {
    long count = atol(arg[2]);
    latencies = calloc((size_t)count, sizeof *latencies);
    rd_kafka_t *rk = low_latency_producer(arg[0]);
    send_paced(rk, arg[1], count, atol(arg[3]), atof(arg[4]), latencies);
    print_latencies();
}

struct reader {
    rd_kafka_queue_t *queue;
    double *found;
    long count, wanted;
};

static void *read_along(void *argument) {
    struct reader *reader = argument;
    while (reader->count < reader->wanted) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(reader->queue, 10000);
        if (message == NULL) break;
        if (!message->err) {
            double sent, received = now();
            memcpy(&sent, message->payload, sizeof sent);
            if (sent > 0) reader->found[reader->count++] = received - sent;
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static void end_to_end(char **arg) {
    long count = atol(arg[2]);
    static char unmeasured;
    double *found = calloc((size_t)count, sizeof *found);
    rd_kafka_t *consumer = client(CONSUMER, rd_kafka_conf_new(), arg[0]);
    struct reader reader = {start(consumer, arg[1], 1, OFFSET_BEGINNING), found, 0, count};
    pthread_t thread;
    pthread_create(&thread, NULL, read_along, &reader);
    send_paced(low_latency_producer(arg[0]), arg[1], count, atol(arg[3]), atof(arg[4]), &unmeasured);
    pthread_join(thread, NULL);
    latencies = found;
    latency_count = reader.count;
    failed += count - reader.count;
    print_latencies();
}

int main(int argc, char **argv) {
    if (argc == 8 && strcmp(argv[1], "produce") == 0) produce(argv + 2);
    else if (argc == 6 && strcmp(argv[1], "consume") == 0) consume(argv + 2);
    else if (argc == 7 && strcmp(argv[1], "latency") == 0) latency(argv + 2);
    else if (argc == 7 && strcmp(argv[1], "end-to-end") == 0) end_to_end(argv + 2);
    else fail("usage: see the head of librdkafka_client.c");
    fflush(stdout);
    _Exit(0); /* The library's threads have nothing left to say. */
}
