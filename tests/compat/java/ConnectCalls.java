// Calls Apache Kafka's own converters, transforms and predicates: one JSON object per line on the
// input is a call, one per line on the output its result. tests/compat/connect_java.py is the other
// side, and says how schemas, values and records are written.

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;

public class ConnectCalls {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Map<String, Object> INSTANCES = new HashMap<>();
    private static final Map<JsonNode, Schema> SCHEMAS = new HashMap<>();

    static {
        // Strings may contain half a surrogate pair, which is no UTF-8.
        MAPPER.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
    }

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        Locale.setDefault(Locale.US);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode call = MAPPER.readTree(line);
            ObjectNode result = MAPPER.createObjectNode();
            try {
                call(call, result);
            } catch (Throwable error) {
                result.removeAll();
                result.put("error", error.getClass().getName());
                result.put("message", String.valueOf(error.getMessage()));
            }
            out.write(MAPPER.writeValueAsString(result));
            out.write('\n');
            // Whoever asks one call at a time waits for each answer.
            if (!in.ready())
                out.flush();
        }
        out.flush();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void call(JsonNode call, ObjectNode result) throws Exception {
        switch (call.get("op").asText()) {
            case "java":
                result.put("version", Runtime.version().feature());
                return;
            case "config":
                result.set("config", writeConfig(configDef(call.get("class").asText())));
                return;
            case "from": {
                Schema schema = readSchema(call.get("schema"));
                Object value = readValue(call.get("value"));
                writeBytes(result, converter(call).fromConnectData("topic", schema, value));
                return;
            }
            case "to":
                writeBoth(result, converter(call).toConnectData("topic", readBytes(call.get("data"))));
                return;
            case "from-header": {
                Schema schema = readSchema(call.get("schema"));
                Object value = readValue(call.get("value"));
                writeBytes(result, headerConverter(call).fromConnectHeader("topic", "name", schema, value));
                return;
            }
            case "to-header":
                writeBoth(result, headerConverter(call).toConnectHeader("topic", "name", readBytes(call.get("data"))));
                return;
            case "parse":
                writeBoth(result, Values.parseString(call.get("text").textValue()));
                return;
            case "infer":
                result.set("schema", writeSchema(Values.inferSchema(readValue(call.get("value")))));
                return;
            case "validate":
                ConnectSchema.validateValue(readSchema(call.get("schema")), readValue(call.get("value")));
                result.put("valid", true);
                return;
            case "transform": {
                Transformation transform = (Transformation) instance(call, object -> {
                    ((Transformation<?>) object).configure(config(call));
                });
                ConnectRecord<?> record = (ConnectRecord<?>) transform.apply(readRecord(call.get("record")));
                result.set("record", record == null ? null : writeRecord(record));
                return;
            }
            case "predicate": {
                Predicate predicate = (Predicate) instance(call, object -> {
                    ((Predicate<?>) object).configure(config(call));
                });
                result.put("answer", predicate.test(readRecord(call.get("record"))));
                return;
            }
            default:
                throw new IllegalArgumentException("unknown op " + call.get("op"));
        }
    }

    private static ConfigDef configDef(String className) throws Exception {
        Object plugin = Class.forName(className).getDeclaredConstructor().newInstance();
        if (plugin instanceof Converter)
            return ((Converter) plugin).config();
        if (plugin instanceof HeaderConverter)
            return ((HeaderConverter) plugin).config();
        if (plugin instanceof Predicate)
            return ((Predicate<?>) plugin).config();
        return ((Transformation<?>) plugin).config();
    }

    // The options as /connector-plugins/{plugin}/config shows them.
    private static ArrayNode writeConfig(ConfigDef config) {
        ArrayNode keys = MAPPER.createArrayNode();
        for (ConfigDef.ConfigKey key : config.configKeys().values()) {
            ObjectNode node = keys.addObject();
            node.put("name", key.name);
            node.put("type", key.type.name());
            node.put("required", !key.hasDefault());
            node.put("default_value", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            node.put("importance", key.importance.name());
            node.put("documentation", key.documentation);
            node.put("group", key.group);
            node.put("width", key.width.name());
            node.put("display_name", key.displayName);
            ArrayNode dependents = node.putArray("dependents");
            key.dependents.forEach(dependents::add);
            node.put("order_in_group", key.orderInGroup);
        }
        return keys;
    }

    private interface Setup {
        void apply(Object instance) throws Exception;
    }

    // One instance for each class and configuration, as in a worker.
    private static Object instance(JsonNode call, Setup setup) throws Exception {
        String key = call.get("op").asText().replaceFirst("^(from|to)", "") + " " + call.get("class") + " " + call.get("config");
        Object found = INSTANCES.get(key);
        if (found == null) {
            found = Class.forName(call.get("class").asText()).getDeclaredConstructor().newInstance();
            setup.apply(found);
            INSTANCES.put(key, found);
        }
        return found;
    }

    private static Converter converter(JsonNode call) throws Exception {
        return (Converter) instance(call, object -> ((Converter) object).configure(config(call), false));
    }

    private static HeaderConverter headerConverter(JsonNode call) throws Exception {
        return (HeaderConverter) instance(call, object -> {
            Map<String, Object> config = new HashMap<>(config(call));
            config.put("converter.type", "header");
            ((HeaderConverter) object).configure(config);
        });
    }

    private static Map<String, Object> config(JsonNode call) {
        Map<String, Object> config = new HashMap<>();
        for (Map.Entry<String, JsonNode> entry : call.get("config").properties())
            config.put(entry.getKey(), entry.getValue().textValue());
        return config;
    }

    private static byte[] readBytes(JsonNode node) {
        return node.isNull() ? null : Base64.getDecoder().decode(node.textValue());
    }

    private static void writeBytes(ObjectNode result, byte[] bytes) {
        result.put("data", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
    }

    private static void writeBoth(ObjectNode result, SchemaAndValue both) {
        result.set("schema", both == null ? null : writeSchema(both.schema()));
        result.set("value", both == null ? null : writeValue(both.value()));
    }

    private static Schema readSchema(JsonNode node) {
        if (node == null || node.isNull())
            return null;
        Schema known = SCHEMAS.get(node);
        if (known != null)
            return known;
        List<Field> fields = null;
        if (node.has("fields")) {
            fields = new ArrayList<>();
            for (JsonNode field : node.get("fields"))
                fields.add(new Field(field.get(0).textValue(), fields.size(), readSchema(field.get(1))));
        }
        Map<String, String> parameters = null;
        if (node.has("parameters")) {
            parameters = new LinkedHashMap<>();
            for (Map.Entry<String, JsonNode> entry : node.get("parameters").properties())
                parameters.put(entry.getKey(), entry.getValue().textValue());
        }
        Schema schema = new ConnectSchema(
            Schema.Type.valueOf(node.get("type").textValue()),
            node.has("optional"),
            node.has("default") ? readValue(node.get("default")) : null,
            node.has("name") ? node.get("name").textValue() : null,
            node.has("version") ? node.get("version").intValue() : null,
            node.has("doc") ? node.get("doc").textValue() : null,
            parameters, fields, readSchema(node.get("key")), readSchema(node.get("value")));
        SCHEMAS.put(node, schema);
        return schema;
    }

    private static ObjectNode writeSchema(Schema schema) {
        if (schema == null)
            return null;
        ObjectNode node = MAPPER.createObjectNode();
        node.put("type", schema.type().name());
        if (schema.isOptional())
            node.put("optional", true);
        if (schema.defaultValue() != null)
            node.set("default", writeValue(schema.defaultValue()));
        if (schema.name() != null)
            node.put("name", schema.name());
        if (schema.version() != null)
            node.put("version", schema.version());
        if (schema.doc() != null)
            node.put("doc", schema.doc());
        if (schema.parameters() != null) {
            ObjectNode parameters = node.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields())
                fields.addArray().add(field.name()).add(writeSchema(field.schema()));
        }
        if (schema.type() == Schema.Type.MAP && schema.keySchema() != null)
            node.set("key", writeSchema(schema.keySchema()));
        if ((schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) && schema.valueSchema() != null)
            node.set("value", writeSchema(schema.valueSchema()));
        return node;
    }

    private static Object readValue(JsonNode node) {
        if (node == null || node.isNull())
            return null;
        JsonNode inner = node.get(1);
        switch (node.get(0).textValue()) {
            case "int8": return (byte) inner.intValue();
            case "int16": return (short) inner.intValue();
            case "int32": return inner.intValue();
            case "int64": return Long.parseLong(inner.textValue());
            case "bigint": return new BigInteger(inner.textValue());
            case "float32": return Float.intBitsToFloat((int) inner.longValue());
            case "float64": return Double.longBitsToDouble(Long.parseUnsignedLong(inner.textValue()));
            case "boolean": return inner.booleanValue();
            case "string": return inner.textValue();
            case "bytes": return Base64.getDecoder().decode(inner.textValue());
            case "decimal": return new BigDecimal(new BigInteger(inner.textValue()), node.get(2).intValue());
            case "date": return new Date(Long.parseLong(inner.textValue()));
            case "list": {
                List<Object> list = new ArrayList<>();
                for (JsonNode element : inner)
                    list.add(readValue(element));
                return list;
            }
            case "map": {
                Map<Object, Object> map = new LinkedHashMap<>();
                for (JsonNode entry : inner)
                    map.put(readValue(entry.get(0)), readValue(entry.get(1)));
                return map;
            }
            case "struct": {
                Struct struct = new Struct(readSchema(inner));
                int index = 0;
                for (JsonNode value : node.get(2)) {
                    Object read = readValue(value);
                    Field field = struct.schema().fields().get(index++);
                    if (read != null)
                        struct.put(field, read);
                }
                return struct;
            }
            default: throw new IllegalArgumentException("unknown value " + node);
        }
    }

    private static ArrayNode writeValue(Object value) {
        if (value == null)
            return null;
        ArrayNode node = MAPPER.createArrayNode();
        if (value instanceof Byte) node.add("int8").add((Byte) value);
        else if (value instanceof Short) node.add("int16").add((Short) value);
        else if (value instanceof Integer) node.add("int32").add((Integer) value);
        else if (value instanceof Long) node.add("int64").add(value.toString());
        else if (value instanceof BigInteger) node.add("bigint").add(value.toString());
        else if (value instanceof Float) node.add("float32").add(Integer.toUnsignedLong(Float.floatToIntBits((Float) value)));
        else if (value instanceof Double) node.add("float64").add(Long.toUnsignedString(Double.doubleToLongBits((Double) value)));
        else if (value instanceof Boolean) node.add("boolean").add((Boolean) value);
        else if (value instanceof String) node.add("string").add((String) value);
        else if (value instanceof byte[]) node.add("bytes").add(Base64.getEncoder().encodeToString((byte[]) value));
        else if (value instanceof ByteBuffer) node.add("bytes").add(Base64.getEncoder().encodeToString(((ByteBuffer) value).array()));
        else if (value instanceof BigDecimal) node.add("decimal").add(((BigDecimal) value).unscaledValue().toString()).add(((BigDecimal) value).scale());
        else if (value instanceof Date) node.add("date").add(Long.toString(((Date) value).getTime()));
        else if (value instanceof List) {
            ArrayNode elements = node.add("list").addArray();
            for (Object element : (List<?>) value)
                elements.add(writeValue(element));
        } else if (value instanceof Map) {
            ArrayNode entries = node.add("map").addArray();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
                entries.addArray().add(writeValue(entry.getKey())).add(writeValue(entry.getValue()));
        } else if (value instanceof Struct) {
            Struct struct = (Struct) value;
            node.add("struct").add(writeSchema(struct.schema()));
            ArrayNode values = node.addArray();
            for (Field field : struct.schema().fields())
                values.add(writeValue(struct.getWithoutDefault(field.name())));
        } else
            throw new IllegalArgumentException("no name for " + value.getClass());
        return node;
    }

    private static ConnectRecord<?> readRecord(JsonNode node) {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.get("headers"))
            headers.add(header.get(0).textValue(), new SchemaAndValue(readSchema(header.get(1)), readValue(header.get(2))));
        String topic = node.get("topic").textValue();
        Integer partition = node.get("partition").isNull() ? null : node.get("partition").intValue();
        Long timestamp = node.get("timestamp").isNull() ? null : Long.parseLong(node.get("timestamp").textValue());
        Schema keySchema = readSchema(node.get("keySchema"));
        Schema valueSchema = readSchema(node.get("valueSchema"));
        Object key = readValue(node.get("key"));
        Object value = readValue(node.get("value"));
        if (node.has("offset"))
            return new SinkRecord(topic, partition, keySchema, key, valueSchema, value,
                node.get("offset").longValue(), timestamp, TimestampType.CREATE_TIME, headers);
        return new SourceRecord(Map.of(), Map.of(), topic, partition, keySchema, key, valueSchema, value, timestamp, headers);
    }

    private static ObjectNode writeRecord(ConnectRecord<?> record) {
        ObjectNode node = MAPPER.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.put("timestamp", record.timestamp() == null ? null : record.timestamp().toString());
        node.set("keySchema", writeSchema(record.keySchema()));
        node.set("key", writeValue(record.key()));
        node.set("valueSchema", writeSchema(record.valueSchema()));
        node.set("value", writeValue(record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers())
            headers.addArray().add(header.key()).add(writeSchema(header.schema())).add(writeValue(header.value()));
        return node;
    }
}
