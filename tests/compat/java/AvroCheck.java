// Reads Avro schemas and values with Apache Avro: each line of the input is a schema and a value in
// base64, both as JSON; each line of the output is the schema as Avro prints it and the value as Avro
// writes it again after reading it.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

public class AvroCheck {
    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode call = mapper.readTree(line);
            ObjectNode result = mapper.createObjectNode();
            try {
                Schema schema = new Schema.Parser().parse(call.get("schema").textValue());
                byte[] data = Base64.getDecoder().decode(call.get("data").textValue());
                Object value = new GenericDatumReader<>(schema)
                    .read(null, DecoderFactory.get().binaryDecoder(data, null));
                ByteArrayOutputStream again = new ByteArrayOutputStream();
                BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(again, null);
                new GenericDatumWriter<>(schema).write(value, encoder);
                encoder.flush();
                result.put("schema", schema.toString());
                result.put("data", Base64.getEncoder().encodeToString(again.toByteArray()));
            } catch (Exception error) {
                result.put("error", error.toString());
            }
            out.println(mapper.writeValueAsString(result));
        }
        out.flush();
    }
}
