import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Apache Kafka's own assignors: a group per line in, its assignment per line out.
 *
 * <p>In: {@code uniform 1:4,2:3 a|1,2|1=0,1/2=2 b|2|}, that is the assignor, the partitions of
 * each topic, and of each member its topics and what it had. Out: {@code a|1=0,1/2=2 b|2=0,1}.
 * Members keep the order of the line, and partitions that of their numbers; topics are small
 * numbers, whose hash order is their own.
 */
public class Assignors {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(assign(line.split(" ")));
        }
    }

    private static String assign(String[] words) throws Exception {
        Map<Uuid, Integer> counts = new HashMap<>();
        for (String entry : words[1].split(",")) {
            String[] pair = entry.split(":");
            counts.put(topic(pair[0]), Integer.parseInt(pair[1]));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        for (int index = 2; index < words.length; index++) {
            String[] parts = words[index].split("\\|", -1);
            Set<Uuid> topics = new HashSet<>();
            for (String name : parts[1].isEmpty() ? new String[0] : parts[1].split(",")) {
                topics.add(topic(name));
            }
            subscriptions.add(topics);
            Map<Uuid, Set<Integer>> had = partitions(parts[2]);
            had.forEach((topic, numbers) -> numbers.forEach(number ->
                owners.computeIfAbsent(topic, key -> new HashMap<>()).put(number, parts[0])));
            members.put(parts[0], new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(had)));
        }
        SubscriptionType type = subscriptions.size() > 1
            ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        ConsumerGroupPartitionAssignor assignor =
            words[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        GroupAssignment found = assignor.assign(
            new GroupSpecImpl(members, type, owners),
            new SubscribedTopicDescriber() {
                @Override
                public int numPartitions(Uuid topicId) {
                    return counts.getOrDefault(topicId, -1);
                }

                @Override
                public Set<String> racksForPartition(Uuid topicId, int partition) {
                    return Collections.emptySet();
                }
            });
        return shown(members.keySet(), found);
    }

    private static String shown(Set<String> members, GroupAssignment assignment) {
        StringBuilder text = new StringBuilder();
        for (String member : members) {
            text.append(text.isEmpty() ? "" : " ").append(member).append('|');
            if (!assignment.members().containsKey(member)) {
                continue;
            }
            Map<Uuid, Set<Integer>> topics =
                new TreeMap<>(assignment.members().get(member).partitions());
            String separator = "";
            for (Map.Entry<Uuid, Set<Integer>> entry : topics.entrySet()) {
                String numbers = new TreeSet<>(entry.getValue()).toString().replace(" ", "");
                text.append(separator).append(entry.getKey().getLeastSignificantBits()).append('=');
                text.append(numbers, 1, numbers.length() - 1);
                separator = "/";
            }
        }
        return text.toString();
    }

    private static Map<Uuid, Set<Integer>> partitions(String text) {
        Map<Uuid, Set<Integer>> found = new HashMap<>();
        for (String entry : text.isEmpty() ? new String[0] : text.split("/")) {
            String[] pair = entry.split("=");
            Set<Integer> numbers = new TreeSet<>();
            for (String number : pair[1].split(",")) {
                numbers.add(Integer.parseInt(number));
            }
            found.put(topic(pair[0]), numbers);
        }
        return found;
    }

    private static Uuid topic(String number) {
        return new Uuid(0, Long.parseLong(number));
    }
}
