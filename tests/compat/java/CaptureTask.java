import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.connector.postgresql.PostgresConnector;
import java.io.FileReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/**
 * Runs Debezium's task without a worker: a record per line out, as JSON, until it is killed.
 *
 * <p>Arguments are a properties file with the connector's config, and the stored offset as JSON,
 * or "none".
 */
public class CaptureTask {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Loggers must not write between the records.
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        Properties properties = new Properties();
        properties.load(new FileReader(args[0]));
        Map<String, String> config = new HashMap<>();
        properties.stringPropertyNames().forEach(name -> config.put(name, properties.getProperty(name)));
        Map<String, Object> stored = args[1].equals("none") ? null : offset(json, args[1]);

        PostgresConnector connector = new PostgresConnector();
        connector.start(config);
        Map<String, String> taskConfig = connector.taskConfigs(1).get(0);
        SourceTask task = (SourceTask) connector.taskClass().getDeclaredConstructor().newInstance();
        task.initialize(new Context(taskConfig, stored));
        task.start(taskConfig);

        JsonConverter keys = new JsonConverter();
        JsonConverter values = new JsonConverter();
        keys.configure(Map.of(), true);
        values.configure(Map.of(), false);
        while (true) {
            List<SourceRecord> records = task.poll();
            if (records == null) {
                continue;
            }
            for (SourceRecord record : records) {
                String topic = record.topic();
                Map<String, Object> headers = new LinkedHashMap<>();
                for (Header header : record.headers()) {
                    byte[] data = values.fromConnectHeader(topic, header.key(), header.schema(), header.value());
                    headers.put(header.key(), json.readTree(data));
                }
                byte[] key = keys.fromConnectData(topic, record.keySchema(), record.key());
                byte[] value = values.fromConnectData(topic, record.valueSchema(), record.value());
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("topic", topic);
                line.put("partition", record.sourcePartition());
                line.put("offset", new TreeMap<>(record.sourceOffset()));
                line.put("headers", headers);
                line.put("key", key == null ? null : json.readTree(key));
                line.put("value", value == null ? null : json.readTree(value));
                out.println(json.writeValueAsString(line));
                task.commitRecord(record, null);
            }
            task.commit();
        }
    }

    /** An offset as Connect reads it from its topic: all numbers are longs. */
    private static Map<String, Object> offset(ObjectMapper json, String text) throws Exception {
        Map<String, Object> read = new HashMap<>();
        json.readTree(text).properties().forEach(entry -> {
            var node = entry.getValue();
            Object value = node.isNumber() ? (Object) node.longValue() : node.isBoolean() ? (Object) node.booleanValue() : node.textValue();
            read.put(entry.getKey(), value);
        });
        return read;
    }

    private record Context(Map<String, String> configs, Map<String, Object> stored)
            implements SourceTaskContext, OffsetStorageReader {
        @Override
        public OffsetStorageReader offsetStorageReader() {
            return this;
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return null;
        }

        @Override
        public <T> Map<String, Object> offset(Map<String, T> partition) {
            return stored;
        }

        @Override
        public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
            Map<Map<String, T>, Map<String, Object>> found = new HashMap<>();
            partitions.forEach(partition -> found.put(partition, stored));
            return found;
        }
    }
}
