import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactions of one record of 100 bytes to each partition of TOPIC, by PRODUCERS at a time:
 * TransactionalProducer BOOTSTRAP TOPIC PARTITIONS PRODUCERS WARM_UP COUNT. Each producer makes
 * WARM_UP transactions that are not measured, then COUNT. One JSON object on stdout.
 *
 * In one of some 100,000 transactions on a busy machine, Kafka's producer 4.3.1 sends EndTxn before
 * the record (docs/transactions.md). The broker refuses that, and the producer has to be replaced;
 * the output tells how often, and the time that it takes counts.
 */
public final class TransactionalProducer {
    private static final AtomicInteger REPLACED = new AtomicInteger();

    private final Properties properties = new Properties();
    private final String topic;
    private final int partitions;
    private KafkaProducer<byte[], byte[]> producer;

    private TransactionalProducer(String bootstrap, String topic, int partitions, int number) {
        properties.put("bootstrap.servers", bootstrap);
        properties.put("transactional.id", topic + "-" + number);
        properties.put("linger.ms", "0");
        this.topic = topic;
        this.partitions = partitions;
        begin();
    }

    private void begin() {
        producer = new KafkaProducer<>(
            properties, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
    }

    private double[] run(int count) {
        double[] millis = new double[count];
        for (int number = 0; number < count; number++) {
            long began = System.nanoTime();
            try {
                write();
            } catch (InvalidTxnStateException error) {
                REPLACED.incrementAndGet();
                producer.close();
                begin();
                write();
            }
            millis[number] = (System.nanoTime() - began) / 1e6;
        }
        return millis;
    }

    private void write() {
        producer.beginTransaction();
        for (int partition = 0; partition < partitions; partition++) {
            producer.send(new ProducerRecord<>(topic, partition, null, new byte[100]));
        }
        producer.commitTransaction();
    }

    public static void main(String[] arguments) throws Exception {
        int partitions = Integer.parseInt(arguments[2]);
        int producers = Integer.parseInt(arguments[3]);
        int warmUp = Integer.parseInt(arguments[4]);
        int count = Integer.parseInt(arguments[5]);
        ExecutorService threads = Executors.newFixedThreadPool(producers);
        CountDownLatch warm = new CountDownLatch(producers);
        CountDownLatch begin = new CountDownLatch(1);
        List<Future<double[]>> running = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            int own = number;
            running.add(threads.submit(() -> {
                try {
                    TransactionalProducer it =
                        new TransactionalProducer(arguments[0], arguments[1], partitions, own);
                    it.run(warmUp);
                    warm.countDown();
                    begin.await();
                    double[] millis = it.run(count);
                    it.producer.close();
                    return millis;
                } finally {
                    // One that fails must not keep the others waiting.
                    warm.countDown();
                }
            }));
        }
        threads.shutdown();
        warm.await();
        long began = System.nanoTime();
        begin.countDown();
        double[] all = new double[producers * count];
        int filled = 0;
        for (Future<double[]> each : running) {
            double[] millis = each.get();
            System.arraycopy(millis, 0, all, filled, count);
            filled += count;
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        Arrays.sort(all);
        System.out.printf(
            "{\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"transactions_s\": %.3f, \"replaced\": %d, "
                + "\"failed\": 0}%n",
            all[all.length / 2], all[all.length * 99 / 100], all.length / seconds, REPLACED.get());
    }
}
