import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java clients behind a pipe: a JSON request per line on stdin, a JSON answer per line on
 * stdout. The requests are those of tests/compat/clients/driver.py. Clients keep their default
 * settings unless a request names one.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(120);

    private final String bootstrap;
    private final Admin admin;
    private final KafkaConsumer<byte[], byte[]> consumer;

    private Driver(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        this.admin = Admin.create(properties);
        this.consumer = new KafkaConsumer<>(
            properties(Map.of()), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        Driver driver = new Driver(arguments[0]);
        BufferedReader input =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                driver.handle(JSON.readTree(line), answer);
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

    private void handle(JsonNode request, ObjectNode answer) throws Exception {
        String topic = request.path("topic").asText();
        switch (request.get("op").asText()) {
            case "create_topic" -> createTopic(topic, request);
            case "delete_topic" -> admin.deleteTopics(List.of(topic)).all().get();
            case "list_topics" -> {
                ArrayNode names = answer.putArray("topics");
                admin.listTopics().names().get().forEach(names::add);
            }
            case "topic_config" -> topicConfig(topic, answer);
            case "set_topic_config" -> setTopicConfig(topic, request);
            case "produce" -> produce(topic, request, answer);
            case "consume" -> consume(topic, request, answer);
            case "offset_at" -> offsetAt(topic, request, answer);
            case "list_offsets" -> listOffsets(topic, request, answer);
            case "add_partitions" -> admin.createPartitions(
                Map.of(topic, NewPartitions.increaseTo(request.get("count").asInt()))).all().get();
            case "delete_records" -> deleteRecords(topic, request, answer);
            case "describe_topic" -> describeTopic(topic, answer);
            case "describe_cluster" -> describeCluster(answer);
            case "describe_producers" -> describeProducers(topic, request, answer);
            case "log_dirs" -> logDirs(topic, answer);
            default -> throw new IllegalArgumentException(request.toString());
        }
    }

    private void createTopic(String topic, JsonNode request) throws Exception {
        NewTopic wanted = new NewTopic(
            topic, Optional.of(request.path("partitions").asInt(1)),
            request.has("replication_factor")
                ? Optional.of((short) request.get("replication_factor").asInt()) : Optional.empty());
        wanted.configs(strings(request.path("configs")));
        boolean validateOnly = request.path("validate_only").asBoolean(false);
        admin.createTopics(
            List.of(wanted), new CreateTopicsOptions().validateOnly(validateOnly)).all().get();
    }

    private void topicConfig(String topic, ObjectNode answer) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ObjectNode configs = answer.putObject("configs");
        ObjectNode sources = answer.putObject("sources");
        for (ConfigEntry entry
                : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            configs.put(entry.name(), entry.value());
            sources.put(entry.name(), entry.source().name());
        }
    }

    private void setTopicConfig(String topic, JsonNode request) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        List<AlterConfigOp> changes = new ArrayList<>();
        strings(request.path("configs")).forEach((name, value) -> changes.add(
            new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        boolean validateOnly = request.path("validate_only").asBoolean(false);
        admin.incrementalAlterConfigs(
            Map.of(resource, changes), new AlterConfigsOptions().validateOnly(validateOnly)).all().get();
    }

    private void produce(String topic, JsonNode request, ObjectNode answer) throws Exception {
        Map<String, String> settings = strings(request.path("settings"));
        if (request.has("codec")) {
            settings.put("compression.type", request.get("codec").asText());
        }
        if (request.has("acks")) {
            settings.put("acks", request.get("acks").asText());
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                properties(settings), new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode record : request.get("records")) {
                List<Header> headers = new ArrayList<>();
                for (JsonNode header : record.path("headers")) {
                    headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
                }
                Long timestamp = record.has("timestamp") ? record.get("timestamp").asLong() : null;
                sent.add(producer.send(new ProducerRecord<>(
                    topic, record.get("partition").asInt(), timestamp,
                    bytes(record.get("key")), bytes(record.get("value")), headers)));
            }
            ArrayNode offsets = answer.putArray("offsets");
            for (Future<RecordMetadata> one : sent) {
                offsets.add(one.get().offset());
            }
        }
    }

    private void consume(String topic, JsonNode request, ObjectNode answer) {
        if (request.has("group")) {
            Map<String, String> settings =
                Map.of("group.id", request.get("group").asText(), "auto.offset.reset", "earliest");
            try (KafkaConsumer<byte[], byte[]> member = new KafkaConsumer<>(
                    properties(settings), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                member.subscribe(List.of(topic));
                poll(member, request.get("count").asInt(), answer);
            }
            return;
        }
        Map<TopicPartition, Long> starts = new HashMap<>();
        request.get("starts").properties().forEach(entry -> starts.put(
            new TopicPartition(topic, Integer.parseInt(entry.getKey())), entry.getValue().asLong()));
        consumer.assign(starts.keySet());
        starts.forEach(consumer::seek);
        poll(consumer, request.get("count").asInt(), answer);
    }

    private static void poll(KafkaConsumer<byte[], byte[]> consumer, int wanted, ObjectNode answer) {
        ArrayNode records = answer.putArray("records");
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (records.size() < wanted && System.nanoTime() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                ObjectNode one = records.addObject();
                one.put("partition", record.partition());
                one.put("offset", record.offset());
                one.put("timestamp", record.timestamp());
                one.put("key", record.key());
                one.put("value", record.value());
                ArrayNode headers = one.putArray("headers");
                for (Header header : record.headers()) {
                    headers.addArray().add(header.key()).add(header.value());
                }
            }
        }
    }

    private void offsetAt(String topic, JsonNode request, ObjectNode answer) {
        TopicPartition partition = new TopicPartition(topic, request.get("partition").asInt());
        long timestamp = request.get("timestamp").asLong();
        if (timestamp == -1) {
            answer.put("offset", consumer.endOffsets(List.of(partition)).get(partition));
        } else if (timestamp == -2) {
            answer.put("offset", consumer.beginningOffsets(List.of(partition)).get(partition));
        } else {
            OffsetAndTimestamp found =
                consumer.offsetsForTimes(Map.of(partition, timestamp)).get(partition);
            answer.put("offset", found == null ? -1 : found.offset());
        }
    }

    private void listOffsets(String topic, JsonNode request, ObjectNode answer) throws Exception {
        TopicPartition partition = new TopicPartition(topic, request.get("partition").asInt());
        OffsetSpec spec = switch (request.get("spec").asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max_timestamp" -> OffsetSpec.maxTimestamp();
            case "earliest_local" -> OffsetSpec.earliestLocal();
            default -> OffsetSpec.forTimestamp(request.get("timestamp").asLong());
        };
        var found = admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get();
        answer.put("offset", found.offset());
        answer.put("timestamp", found.timestamp());
        answer.put("leader_epoch", found.leaderEpoch().orElse(-1));
    }

    private void deleteRecords(String topic, JsonNode request, ObjectNode answer) throws Exception {
        TopicPartition partition = new TopicPartition(topic, request.get("partition").asInt());
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("offset").asLong());
        answer.put("low_watermark", admin.deleteRecords(Map.of(partition, before))
            .lowWatermarks().get(partition).get().lowWatermark());
    }

    private void describeTopic(String topic, ObjectNode answer) throws Exception {
        var byName = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        Uuid id = byName.topicId();
        var byId = admin.describeTopics(TopicCollection.ofTopicIds(List.of(id)))
            .allTopicIds().get().get(id);
        answer.put("id", id.toString());
        answer.put("name_by_id", byId.name());
        ArrayNode partitions = answer.putArray("partitions");
        byName.partitions().forEach(one -> {
            ObjectNode node = partitions.addObject();
            node.put("partition", one.partition());
            node.put("leader", one.leader().id());
            node.put("replicas", one.replicas().size());
            node.put("isr", one.isr().size());
        });
    }

    private void describeCluster(ObjectNode answer) throws Exception {
        var cluster = admin.describeCluster();
        answer.put("cluster_id", cluster.clusterId().get());
        answer.put("controller", cluster.controller().get().id());
        ArrayNode nodes = answer.putArray("nodes");
        cluster.nodes().get().forEach(node -> nodes.add(node.host() + ":" + node.port()));
    }

    private void describeProducers(String topic, JsonNode request, ObjectNode answer)
            throws Exception {
        TopicPartition partition = new TopicPartition(topic, request.get("partition").asInt());
        ArrayNode producers = answer.putArray("producers");
        admin.describeProducers(List.of(partition)).partitionResult(partition).get()
            .activeProducers().forEach(state -> {
                ObjectNode node = producers.addObject();
                node.put("producer_id", state.producerId());
                node.put("epoch", state.producerEpoch());
                node.put("last_sequence", state.lastSequence());
            });
    }

    private void logDirs(String topic, ObjectNode answer) throws Exception {
        ObjectNode sizes = answer.putObject("sizes");
        int broker = admin.describeCluster().nodes().get().iterator().next().id();
        admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker).forEach(
            (path, description) -> description.replicaInfos().forEach((partition, replica) -> {
                if (partition.topic().equals(topic)) {
                    sizes.put(String.valueOf(partition.partition()), replica.size());
                }
            }));
    }

    private Properties properties(Map<String, String> settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.putAll(settings);
        return properties;
    }

    private static byte[] bytes(JsonNode node) throws java.io.IOException {
        return node == null || node.isNull() ? null : node.binaryValue();
    }

    private static Map<String, String> strings(JsonNode node) {
        Map<String, String> result = new HashMap<>();
        node.properties().forEach(entry -> result.put(entry.getKey(), entry.getValue().asText()));
        return result;
    }
}
