"""Settings for TLS, SASL, principals and delegation tokens."""

from typing import Final

SECURITY: Final = """
authorizer.class.name STRING '' any LOW read-only refused
  Java class of the authorizer; empty allows everything.
connection.failed.authentication.delay.ms INT 100 0.. LOW read-only accepted
  Pause before a connection that failed to authenticate is closed.
connections.max.reauth.ms LONG 0 any MEDIUM read-only accepted
  How long a SASL session lasts before the client must authenticate again; 0 for ever.
delegation.token.expiry.check.interval.ms LONG 3600000 1.. LOW read-only accepted
  How often expired delegation tokens are removed.
delegation.token.expiry.time.ms LONG 86400000 1.. MEDIUM read-only accepted
  How long a delegation token is valid before it must be renewed.
delegation.token.max.lifetime.ms LONG 604800000 1.. MEDIUM read-only accepted
  Maximum lifetime of a delegation token, including renewals.
delegation.token.secret.key PASSWORD null any MEDIUM read-only accepted
  Secret for creating and verifying delegation tokens.
principal.builder.class CLASS org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder any MEDIUM per-broker refused
  Java class that determines the principal of a connection.
sasl.client.callback.handler.class CLASS null any MEDIUM read-only accepted
  Java class for the client side of SASL.
sasl.enabled.mechanisms LIST GSSAPI any MEDIUM per-broker accepted
  SASL mechanisms offered to clients.
sasl.jaas.config PASSWORD null any MEDIUM per-broker accepted
  JAAS login configuration.
sasl.kerberos.kinit.cmd STRING /usr/bin/kinit any MEDIUM per-broker accepted
  Path of kinit.
sasl.kerberos.min.time.before.relogin LONG 60000 any MEDIUM per-broker accepted
  Shortest time between two Kerberos logins.
sasl.kerberos.principal.to.local.rules LIST DEFAULT any MEDIUM per-broker accepted
  Rules that turn Kerberos principals into short names.
sasl.kerberos.service.name STRING null any MEDIUM per-broker accepted
  Kerberos service name of the brokers.
sasl.kerberos.ticket.renew.jitter DOUBLE 0.05 any MEDIUM per-broker accepted
  Random fraction added to the time of renewing a ticket.
sasl.kerberos.ticket.renew.window.factor DOUBLE 0.8 any MEDIUM per-broker accepted
  Fraction of a ticket's lifetime after which it is renewed.
sasl.login.callback.handler.class CLASS null any MEDIUM read-only accepted
  Java class that fetches credentials at login.
sasl.login.class CLASS null any MEDIUM read-only accepted
  Java class that logs in.
sasl.login.connect.timeout.ms INT null any LOW read-only accepted
  How long connecting to the identity provider may take.
sasl.login.read.timeout.ms INT null any LOW read-only accepted
  How long reading from the identity provider may take.
sasl.login.refresh.buffer.seconds SHORT 300 any MEDIUM per-broker accepted
  Time before expiry at which credentials are refreshed at the latest.
sasl.login.refresh.min.period.seconds SHORT 60 any MEDIUM per-broker accepted
  Shortest time between two refreshes of credentials.
sasl.login.refresh.window.factor DOUBLE 0.8 any MEDIUM per-broker accepted
  Fraction of the credentials' lifetime after which they are refreshed.
sasl.login.refresh.window.jitter DOUBLE 0.05 any MEDIUM per-broker accepted
  Random fraction added to the time of refreshing credentials.
sasl.login.retry.backoff.max.ms LONG 10000 any LOW read-only accepted
  Longest back-off between attempts to log in.
sasl.login.retry.backoff.ms LONG 100 any LOW read-only accepted
  First back-off between attempts to log in.
sasl.mechanism.controller.protocol STRING GSSAPI any HIGH read-only accepted
  SASL mechanism used towards controllers.
sasl.mechanism.inter.broker.protocol STRING GSSAPI any MEDIUM per-broker accepted
  SASL mechanism used between brokers.
sasl.oauthbearer.assertion.algorithm STRING RS256 ~ES256|RS256 MEDIUM read-only accepted
  Algorithm that signs the assertion sent to the identity provider.
sasl.oauthbearer.assertion.claim.aud STRING null any MEDIUM read-only accepted
  Audience claim of the assertion.
sasl.oauthbearer.assertion.claim.exp.seconds INT 300 0..86400 LOW read-only accepted
  Lifetime of the assertion.
sasl.oauthbearer.assertion.claim.iss STRING null any MEDIUM read-only accepted
  Issuer claim of the assertion.
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN false any MEDIUM read-only accepted
  Whether each assertion gets a unique id.
sasl.oauthbearer.assertion.claim.nbf.seconds INT 60 0..3600 LOW read-only accepted
  How far back the assertion's validity begins.
sasl.oauthbearer.assertion.claim.sub STRING null any MEDIUM read-only accepted
  Subject claim of the assertion.
sasl.oauthbearer.assertion.file STRING null any MEDIUM read-only accepted
  File that holds a ready assertion.
sasl.oauthbearer.assertion.private.key.file STRING null any MEDIUM read-only accepted
  File of the key that signs the assertion.
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD null any MEDIUM read-only accepted
  Passphrase of the key that signs the assertion.
sasl.oauthbearer.assertion.template.file STRING null any MEDIUM read-only accepted
  File with headers and claims for the assertion.
sasl.oauthbearer.client.credentials.client.id STRING null any MEDIUM read-only accepted
  Client id shown to the identity provider.
sasl.oauthbearer.client.credentials.client.secret PASSWORD null any MEDIUM read-only accepted
  Client secret shown to the identity provider.
sasl.oauthbearer.clock.skew.seconds INT 30 any LOW read-only accepted
  Difference of clocks that is tolerated when a token is checked.
sasl.oauthbearer.expected.audience LIST '' any HIGH read-only accepted
  Audiences of which a token must name one.
sasl.oauthbearer.expected.issuer STRING null any HIGH read-only accepted
  Issuer that a token must name.
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG 3600000 any LOW read-only accepted
  How often the provider's keys are fetched.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG 10000 any LOW read-only accepted
  Longest back-off between attempts to fetch the provider's keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG 100 any LOW read-only accepted
  First back-off between attempts to fetch the provider's keys.
sasl.oauthbearer.jwks.endpoint.url STRING null any MEDIUM read-only accepted
  Where the provider's keys are.
sasl.oauthbearer.jwt.retriever.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever any MEDIUM read-only accepted
  Java class that fetches tokens.
sasl.oauthbearer.jwt.validator.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator any MEDIUM read-only accepted
  Java class that checks tokens.
sasl.oauthbearer.scope STRING null any MEDIUM read-only accepted
  Scope requested from the identity provider.
sasl.oauthbearer.scope.claim.name STRING scope any LOW read-only accepted
  Claim that holds the scope.
sasl.oauthbearer.sub.claim.name STRING sub any LOW read-only accepted
  Claim that holds the subject.
sasl.oauthbearer.token.endpoint.url STRING null any MEDIUM read-only accepted
  Where tokens are issued.
sasl.server.callback.handler.class CLASS null any MEDIUM read-only accepted
  Java class for the server side of SASL.
sasl.server.max.receive.size INT 524288 any MEDIUM read-only accepted
  Largest message accepted before a client is authenticated.
security.inter.broker.protocol STRING PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL MEDIUM read-only refused
  Security protocol between brokers when inter.broker.listener.name is not set.
security.providers STRING null any LOW read-only accepted
  Java classes that bring cryptographic algorithms.
ssl.allow.dn.changes BOOLEAN false any LOW read-only accepted
  Whether a new certificate may name another subject.
ssl.allow.san.changes BOOLEAN false any LOW read-only accepted
  Whether a new certificate may name other hosts.
ssl.cipher.suites LIST '' any MEDIUM per-broker accepted
  Cipher suites that are allowed; empty allows the library's.
ssl.client.auth STRING none required|requested|none MEDIUM per-broker refused
  Whether clients must present a certificate.
ssl.enabled.protocols LIST TLSv1.2,TLSv1.3 any MEDIUM per-broker accepted
  TLS versions that are allowed.
ssl.endpoint.identification.algorithm STRING https any LOW per-broker accepted
  How a server's name is checked against its certificate.
ssl.engine.factory.class CLASS null any LOW per-broker accepted
  Java class that creates TLS engines.
ssl.key.password PASSWORD null any MEDIUM per-broker accepted
  Password of the private key.
ssl.keymanager.algorithm STRING SunX509 any MEDIUM per-broker accepted
  Algorithm of the Java key manager.
ssl.keystore.certificate.chain PASSWORD null any MEDIUM per-broker accepted
  Certificate chain in PEM.
ssl.keystore.key PASSWORD null any MEDIUM per-broker accepted
  Private key in PEM.
ssl.keystore.location STRING null any MEDIUM per-broker accepted
  File with private key and certificates.
ssl.keystore.password PASSWORD null any MEDIUM per-broker accepted
  Password of that file.
ssl.keystore.type STRING JKS any MEDIUM per-broker accepted
  Format of that file.
ssl.principal.mapping.rules STRING DEFAULT any LOW read-only accepted
  Rules that turn a certificate's subject into a short name.
ssl.protocol STRING TLSv1.3 any MEDIUM per-broker accepted
  TLS version that is preferred.
ssl.provider STRING null any MEDIUM per-broker accepted
  Java provider of TLS.
ssl.secure.random.implementation STRING null any LOW per-broker accepted
  Java source of random numbers for TLS.
ssl.trustmanager.algorithm STRING PKIX any MEDIUM per-broker accepted
  Algorithm of the Java trust manager.
ssl.truststore.certificates PASSWORD null any MEDIUM per-broker accepted
  Trusted certificates in PEM.
ssl.truststore.location STRING null any MEDIUM per-broker accepted
  File with trusted certificates.
ssl.truststore.password PASSWORD null any MEDIUM per-broker accepted
  Password of the file with trusted certificates.
ssl.truststore.type STRING JKS any MEDIUM per-broker accepted
  Format of the file with trusted certificates.
"""  # noqa: E501
