// Prints the options of Apache Kafka's transforms and predicates: one line of JSON for each class
// that is named in the arguments, in the shape of GET /connector-plugins/{plugin}/config.

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.runtime.AbstractHerder;
import org.apache.kafka.connect.runtime.rest.entities.ConfigKeyInfo;

import java.util.ArrayList;
import java.util.List;

public final class ConnectOptions {
    public static void main(String[] classes) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        for (String name : classes) {
            Object plugin = Class.forName(name).getDeclaredConstructor().newInstance();
            ConfigDef definition = (ConfigDef) plugin.getClass().getMethod("config").invoke(plugin);
            List<ConfigKeyInfo> options = new ArrayList<>();
            for (ConfigDef.ConfigKey key : definition.configKeys().values())
                options.add(AbstractHerder.convertConfigKey(key));
            System.out.println(mapper.writeValueAsString(options));
        }
    }
}
