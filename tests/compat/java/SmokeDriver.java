import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.tests.SmokeTestDriver;

/**
 * The driver of StreamsSmokeTest, with less data in less time: bootstrap, keys, records of each key,
 * seconds, and whether results must be exact. Says SUCCESS or FAILURE.
 */
public final class SmokeDriver {
    public static void main(String[] arguments) {
        String bootstrap = arguments[0];
        int keys = Integer.parseInt(arguments[1]);
        int recordsPerKey = Integer.parseInt(arguments[2]);
        Duration time = Duration.ofSeconds(Long.parseLong(arguments[3]));
        Map<String, Set<Integer>> data =
            SmokeTestDriver.generate(bootstrap, keys, recordsPerKey, time);
        System.out.println("GENERATED");
        SmokeTestDriver.verify(bootstrap, data, recordsPerKey, Boolean.parseBoolean(arguments[4]));
        System.exit(0);
    }
}
