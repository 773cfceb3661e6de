import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads COUNT records of TOPIC as fast as the Java consumer can, without a group:
 * AssignedConsumer BOOTSTRAP TOPIC PARTITIONS COUNT. One JSON object on stdout.
 * kafka-consumer-perf-test does the same in a group.
 */
public final class AssignedConsumer {
    public static void main(String[] arguments) {
        int partitions = Integer.parseInt(arguments[2]);
        long wanted = Long.parseLong(arguments[3]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        // What kafka-consumer-perf-test sets.
        properties.put("receive.buffer.bytes", "2097152");
        properties.put("check.crcs", "false");
        List<TopicPartition> assigned = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            assigned.add(new TopicPartition(arguments[1], partition));
        }
        long found = 0;
        long atStart = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            long first = 0;
            long last = System.nanoTime();
            consumer.assign(assigned);
            consumer.seekToBeginning(assigned);
            while (found < wanted && System.nanoTime() - last < 30_000_000_000L) {
                int count = consumer.poll(Duration.ofMillis(100)).count();
                if (count > 0) {
                    found += count;
                    last = System.nanoTime();
                    if (atStart == 0) {
                        first = last;
                        atStart = found;
                    }
                }
            }
            // The clock starts with the first records: finding the partitions is not measured.
            double share = (double) (found - atStart) / found;
            System.out.printf("{\"records\": %d, \"failed\": %d, \"seconds\": %.6f}%n",
                found, Math.max(wanted - found, 0), (last - first) / 1e9 / share);
        }
    }
}
