import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Java's transactional producer behind a pipe; the requests are those of clients/transactors.py. */
public final class Transactor {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(120);

    private final String bootstrap;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    private Transactor(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        Transactor transactor = new Transactor(arguments[0]);
        BufferedReader input =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                transactor.handle(JSON.readTree(line));
            } catch (Throwable failure) {
                Throwable cause = failure instanceof ExecutionException && failure.getCause() != null
                    ? failure.getCause() : failure;
                answer.put("error", Errors.forException(cause).code());
                answer.put("message", cause.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
            System.out.flush();
        }
        System.exit(0);
    }

    private void handle(JsonNode request) throws Exception {
        String name = request.path("producer").asText();
        switch (request.get("op").asText()) {
            case "open" -> producers.put(name, open(request.get("id").asText()));
            case "begin" -> producers.get(name).beginTransaction();
            case "send" -> send(producers.get(name), request);
            case "end" -> end(producers.get(name), request.get("commit").asBoolean());
            case "close" -> producers.remove(name).close(Duration.ZERO);
            case "copy" -> copy(request);
            default -> throw new IllegalArgumentException(request.toString());
        }
    }

    private KafkaProducer<String, String> open(String id) {
        Properties properties = properties("transactional.id", id);
        properties.put("transaction.timeout.ms", 120000);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static void send(KafkaProducer<String, String> producer, JsonNode request)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode value : request.get("values")) {
            sent.add(producer.send(new ProducerRecord<>(
                request.get("topic").asText(), request.get("partition").asInt(), null, value.asText())));
        }
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
    }

    private static void end(KafkaProducer<String, String> producer, boolean isCommitted) {
        if (isCommitted) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }

    /** Copies what a group reads; every transaction is aborted once, after all has been written. */
    private void copy(JsonNode request) throws Exception {
        String target = request.get("target").asText();
        Properties properties = properties("group.id", request.get("group").asText());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", "read_committed");
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        try (KafkaProducer<String, String> producer = open(request.get("id").asText());
                KafkaConsumer<String, String> member = new KafkaConsumer<>(
                    properties, new StringDeserializer(), new StringDeserializer())) {
            member.subscribe(List.of(request.get("source").asText()));
            int missing = request.get("count").asInt();
            while (missing > 0 && System.nanoTime() < deadline) {
                ConsumerRecords<String, String> records = member.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                for (boolean isCommitted : new boolean[] {false, true}) {
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> following = new HashMap<>();
                    for (ConsumerRecord<String, String> record : records) {
                        producer.send(new ProducerRecord<>(
                            target, record.partition(), null, record.value()));
                        following.put(new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(following, member.groupMetadata());
                    end(producer, isCommitted);
                }
                missing -= records.count();
            }
        }
    }

    private Properties properties(String name, String value) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put(name, value);
        return properties;
    }
}
