import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.post.PostConnectorRestart;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.InvalidRequestException;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.ResourceNotFoundException;

/** Takes a file source through its life with org.sourcelab's client: URL and file as arguments. */
public final class ConnectClient {
    private static final String NAME = "three";

    public static void main(String[] arguments) throws Exception {
        KafkaConnectClient client = new KafkaConnectClient(new Configuration(arguments[0]));
        Map<String, String> config = new TreeMap<>();
        config.put("connector.class", "FileStreamSource");
        config.put("file", arguments[1]);
        config.put("topic", "lines");

        say("cluster id has", client.getConnectServerVersion().getKafkaClusterId().length());
        say("connectors", client.getConnectors());
        say("type", client.addConnector(new NewConnectorDefinition(NAME, config)).getType());
        try {
            client.addConnector(new NewConnectorDefinition(NAME, config));
        } catch (InvalidRequestException error) {
            say("twice", error.getErrorCode());
        }
        untilState(client, "RUNNING");
        say("tasks", client.getConnectorTasks(NAME).size());
        say("task", client.getConnectorTaskStatus(NAME, 0).getState());
        say("expanded", client.getConnectorsWithAllExpandedMetadata().getConnectorNames());
        say("expanded type",
            client.getConnectorsWithAllExpandedMetadata().getDefinitionForConnector(NAME).getType());
        config.put("batch.size", "10");
        say("updated", client.updateConnectorConfig(NAME, config).getConfig().get("batch.size"));
        untilState(client, "RUNNING");
        until(() -> !client.getConnectorTopics(NAME).getTopics().isEmpty());
        say("topics", client.getConnectorTopics(NAME).getTopics());
        say("reset", client.resetConnectorTopics(NAME));
        say("pause", client.pauseConnector(NAME));
        untilState(client, "PAUSED");
        say("resume", client.resumeConnector(NAME));
        untilState(client, "RUNNING");
        say("restart", client.restartConnector(NAME));
        say("restart tasks",
            client.restartConnector(new PostConnectorRestart(NAME).withIncludeTasks(true)));
        untilState(client, "RUNNING");
        say("restart a task", client.restartConnectorTask(NAME, 0));
        untilState(client, "RUNNING");
        say("has file source", client.getConnectorPlugins().stream()
            .anyMatch(plugin -> plugin.getClassName().endsWith("FileStreamSourceConnector")));
        say("errors", client.validateConnectorPluginConfig(
            new ConnectorPluginConfigDefinition("FileStreamSource", config)).getErrorCount());
        say("deleted", client.deleteConnector(NAME));
        until(() -> client.getConnectors().isEmpty());
        try {
            client.getConnector(NAME);
        } catch (ResourceNotFoundException error) {
            say("gone", error.getErrorCode());
        }
    }

    private static void say(String what, Object value) {
        System.out.println(what + ": " + value);
    }

    private static void untilState(KafkaConnectClient client, String state) throws Exception {
        until(() -> {
            var status = client.getConnectorStatus(NAME);
            return status.getConnector().get("state").equals(state)
                && status.getTasks().size() == 1
                && status.getTasks().get(0).getState().equals(state);
        });
    }

    private static void until(BooleanSupplier isTrue) throws Exception {
        for (int attempt = 0; attempt < 300; attempt++) {
            try {
                if (isTrue.getAsBoolean()) {
                    return;
                }
            } catch (ResourceNotFoundException error) {
                // Not there yet.
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("waited too long");
    }
}
