// Apache Kafka's own message classes behind a pipe: what the Python side encodes is decoded
// and encoded again here, and random messages made here are decoded there.
//
// A request is a frame (four bytes of length): operation, class name, version, arguments. The
// answer is a frame: 0 and the result, or 1 and a reason.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

public final class MessageCodec {
    private static final int RECODE = 0;
    private static final int RANDOM = 1;
    private static final int DEFAULT = 2;
    private static final int SHAPE = 3;

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        // Whatever logs must not end up between the frames.
        System.setOut(new PrintStream(System.err));
        while (true) {
            byte[] request;
            try {
                request = new byte[in.readInt()];
                in.readFully(request);
            } catch (EOFException end) {
                return;
            }
            byte[] answer = answer(request);
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static byte[] answer(byte[] request) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            byte[] result = handle(new DataInputStream(new ByteArrayInputStream(request)));
            out.writeByte(0);
            out.write(result);
        } catch (Throwable error) {
            bytes.reset();
            out.writeByte(1);
            out.write(error.toString().getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    private static byte[] handle(DataInputStream in) throws Exception {
        int operation = in.readByte();
        Class<?> kind = Class.forName(in.readUTF());
        short version = in.readShort();
        switch (operation) {
            case RECODE:
                return recode(kind, version, in.readAllBytes());
            case RANDOM:
                return random(kind, version, in.readLong(), in.readByte(), in.readShort());
            case DEFAULT:
                return encode(create(kind), version);
            case SHAPE:
                StringBuilder shape = new StringBuilder();
                describe(schema(kind, version), shape);
                return shape.toString().getBytes(StandardCharsets.UTF_8);
            default:
                throw new IllegalArgumentException("operation " + operation);
        }
    }

    private static Message create(Class<?> kind) throws Exception {
        return (Message) kind.getConstructor().newInstance();
    }

    private static byte[] encode(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes were not written");
        }
        return buffer.array();
    }

    private static byte[] recode(Class<?> kind, short version, byte[] encoded) throws Exception {
        Message message = create(kind);
        ByteBuffer buffer = ByteBuffer.wrap(encoded);
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes were not read");
        }
        return encode(message, version);
    }

    /** A random message in version, and in another version if that one can carry it. */
    private static byte[] random(Class<?> kind, short version, long seed, int percent, short other)
            throws Exception {
        Message message = create(kind);
        new Filler(new Random(seed), percent).fill(message, schema(kind, version));
        byte[] encoded = encode(message, version);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(encoded.length);
        out.write(encoded);
        try {
            byte[] converted = encode(message, other);
            out.writeByte(0);
            out.write(converted);
        } catch (RuntimeException refused) {
            out.writeByte(1);
            out.write(refused.toString().getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    private static Schema schema(Class<?> kind, short version) throws Exception {
        return ((Schema[]) kind.getField("SCHEMAS").get(null))[version];
    }

    /** The fields by name and order, structs in brackets, tagged fields with their number. */
    private static void describe(Schema schema, StringBuilder out) {
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields) {
                TreeMap<Integer, org.apache.kafka.common.protocol.types.Field> tagged =
                    new TreeMap<>(((TaggedFields) field.def.type).fields());
                tagged.forEach((tag, inner) -> {
                    out.append(tag).append('=');
                    describe(inner.name, inner.type, out);
                });
            } else {
                describe(field.def.name, field.def.type, out);
            }
        }
    }

    private static void describe(String name, Type type, StringBuilder out) {
        out.append(name.replace("_", ""));
        if (type.isNullable()) {
            out.append('?');
        }
        Type element = type.arrayElementType().orElse(type);
        if (element instanceof Schema) {
            out.append('[');
            describe((Schema) element, out);
            out.append(']');
        }
        out.append(' ');
    }

    /** Puts random values into the fields that a version has. */
    private static final class Filler {
        private static final String[] TEXTS = {
            "", "a", "topic-1", "größe", "日本語", "\uD83D\uDE42 x", "n".repeat(130)
        };
        private final Random random;
        private final int percent;

        Filler(Random random, int percent) {
            this.random = random;
            this.percent = percent;
        }

        void fill(Object target, Schema schema) throws Exception {
            Map<String, Field> fields = new HashMap<>();
            for (Field field : target.getClass().getDeclaredFields()) {
                field.setAccessible(true);
                fields.put(field.getName().toLowerCase(), field);
            }
            for (BoundField bound : schema.fields()) {
                if (bound.def.type instanceof TaggedFields) {
                    for (var inner : ((TaggedFields) bound.def.type).fields().values()) {
                        fill(target, fields, inner.name, inner.type);
                    }
                } else {
                    fill(target, fields, bound.def.name, bound.def.type);
                }
            }
        }

        private void fill(Object target, Map<String, Field> fields, String name, Type type)
                throws Exception {
            Field field = fields.get(name.replace("_", "").toLowerCase());
            // Records are null until they are set, also where null is not allowed.
            boolean mustBeSet = !type.isNullable() && field.get(target) == null;
            if (random.nextInt(100) >= percent && !mustBeSet) {
                return;
            }
            if (type.isNullable() && random.nextInt(5) == 0) {
                field.set(target, null);
            } else if (Collection.class.isAssignableFrom(field.getType())) {
                field.set(target, elements(field, type.arrayElementType().get()));
            } else {
                field.set(target, value(field.getType(), type));
            }
        }

        @SuppressWarnings("unchecked")
        private Object elements(Field field, Type type) throws Exception {
            Collection<Object> result;
            Class<?> kind;
            if (field.getType() == List.class) {
                result = new ArrayList<>();
                kind = (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0];
            } else {
                // A collection class of its own, for elements with a key.
                result = (Collection<Object>) field.getType().getConstructor().newInstance();
                kind = (Class<?>) ((ParameterizedType) field.getType().getGenericSuperclass())
                    .getActualTypeArguments()[0];
            }
            int count = random.nextInt(4);
            for (int index = 0; index < count; index++) {
                result.add(value(kind, type));
            }
            return result;
        }

        private Object value(Class<?> kind, Type type) throws Exception {
            if (type instanceof Schema) {
                Object struct = kind.getConstructor().newInstance();
                fill(struct, (Schema) type);
                return struct;
            }
            if (kind == boolean.class) {
                return random.nextBoolean();
            } else if (kind == byte.class || kind == Byte.class) {
                return (byte) random.nextInt();
            } else if (kind == short.class || kind == Short.class) {
                return (short) number();
            } else if (kind == int.class || kind == Integer.class) {
                return type == Type.UINT16 ? random.nextInt(65536) : (int) number();
            } else if (kind == long.class || kind == Long.class) {
                return type == Type.UNSIGNED_INT32 ? number() & 0xffffffffL : number();
            } else if (kind == double.class) {
                return random.nextGaussian();
            } else if (kind == Uuid.class) {
                return new Uuid(random.nextLong(), random.nextLong());
            } else if (kind == String.class) {
                return TEXTS[random.nextInt(TEXTS.length)];
            } else if (kind == byte[].class) {
                return bytes(random.nextInt(4) == 0 ? 200 : random.nextInt(6));
            } else if (kind == ByteBuffer.class) {
                return ByteBuffer.wrap(bytes(random.nextInt(300)));
            } else if (kind.isAssignableFrom(MemoryRecords.class)) {
                return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(random.nextInt(3000))));
            }
            throw new IllegalArgumentException("no random value for " + kind);
        }

        private long number() {
            switch (random.nextInt(4)) {
                case 0:
                    return random.nextLong();
                case 1:
                    return random.nextInt();
                default:
                    return random.nextInt(100) - 2;
            }
        }

        private byte[] bytes(int size) {
            byte[] bytes = new byte[size];
            random.nextBytes(bytes);
            return bytes;
        }
    }
}
