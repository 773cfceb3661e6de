import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command-line tools one after the other in this process: a tool takes a second
 * and a half to start and a few milliseconds to run.
 *
 * A line of stdin is a tool's class and its arguments, {"tool": "...", "arguments": [...]}; a line of
 * stdout is how it ended, {"status": 0, "stdout": "...", "stderr": "..."}.
 */
public final class Tools {
    /** Thrown where a tool would have ended the process. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static int status;
    private static boolean hasEnded;
    private static ByteArrayOutputStream out;
    private static ByteArrayOutputStream err;

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure(Tools::end);
        Exit.setHaltProcedure(Tools::end);
        PrintStream answers = System.out;
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(run(JSON.readTree(line))));
            answers.flush();
        }
        System.exit(0);
    }

    private static ObjectNode run(JsonNode question) throws Exception {
        out = new ByteArrayOutputStream();
        err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        status = 0;
        hasEnded = false;
        List<String> arguments = new ArrayList<>();
        question.get("arguments").forEach(each -> arguments.add(each.asText()));
        try {
            Class.forName(question.get("tool").asText())
                .getMethod("main", String[].class)
                .invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException thrown) {
            if (!hasEnded) {
                thrown.getCause().printStackTrace();
                end(1, null);
            }
        }
        ObjectNode answer = JSON.createObjectNode().put("status", status);
        answer.put("stdout", out.toString(StandardCharsets.UTF_8));
        return answer.put("stderr", err.toString(StandardCharsets.UTF_8));
    }

    /** A tool that catches what it should not would go on: nobody listens to it any more. */
    private static void end(int code, String message) {
        if (!hasEnded) {
            hasEnded = true;
            status = code;
            System.setOut(new PrintStream(PrintStream.nullOutputStream()));
            System.setErr(new PrintStream(PrintStream.nullOutputStream()));
        }
        throw new Ended();
    }
}
