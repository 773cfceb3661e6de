import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One member of a consumer group. What it says on stdout, a JSON object per line, is told in
 * tests/compat/clients/members.py; it leaves the group when its stdin ends.
 */
public final class Member implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static volatile boolean isOver = false;

    private final TreeSet<Integer> owned = new TreeSet<>();

    public static void main(String[] arguments) throws Exception {
        JsonNode options = JSON.readTree(arguments[0]);
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException ignored) {
                // As good as an end.
            }
            isOver = true;
        });
        watcher.setDaemon(true);
        watcher.start();
        new Member().run(options);
        System.exit(0);
    }

    private void run(JsonNode options) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties(options), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(options.get("topic").asText()), this);
            while (!isOver) {
                ConsumerRecords<byte[], byte[]> found = consumer.poll(Duration.ofMillis(100));
                if (found.isEmpty()) {
                    continue;
                }
                ObjectNode line = JSON.createObjectNode();
                ArrayNode records = line.putArray("records");
                for (ConsumerRecord<byte[], byte[]> record : found) {
                    records.addArray().add(record.partition()).add(record.offset());
                }
                say(line);
                try {
                    consumer.commitSync();
                } catch (CommitFailedException | RebalanceInProgressException | RetriableException lost) {
                    // Whoever has the partitions now reads these records again.
                    System.err.println(lost);
                }
            }
        }
        say(JSON.createObjectNode().put("left", true));
    }

    private static Properties properties(JsonNode options) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap").asText());
        properties.put("group.id", options.get("group").asText());
        properties.put("group.protocol", options.get("protocol").asText());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("metadata.max.age.ms", "5000");
        if (options.get("protocol").asText().equals("classic")) {
            properties.put("session.timeout.ms", options.get("session_ms").asText());
            properties.put("heartbeat.interval.ms", options.get("heartbeat_ms").asText());
            if (options.path("assignor").asText("").equals("cooperative")) {
                properties.put("partition.assignment.strategy",
                    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
            }
        }
        if (options.hasNonNull("instance")) {
            properties.put("group.instance.id", options.get("instance").asText());
        }
        return properties;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(one -> owned.add(one.partition()));
        sayOwned();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(one -> owned.remove(one.partition()));
        sayOwned();
    }

    private void sayOwned() {
        ObjectNode line = JSON.createObjectNode();
        ArrayNode assigned = line.putArray("assigned");
        owned.forEach(assigned::add);
        say(line);
    }

    private static void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }
}
