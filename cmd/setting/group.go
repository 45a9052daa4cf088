package setting

import (
	"iter"
	"maps"
	"slices"
)

// NATS holds the settings of the connection to NATS.
type NATS struct {
	URL NATSURL `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to the NATS servers, such as nats://127.0.0.1:4222" placeholder:"URL" help:"The NATS servers."`
	NATSClient
}

// NATSClient holds the credentials, the certificates and the inbox of a client of the NATS servers.
type NATSClient struct {
	Creds File    `name:"nats-creds" setting:"CALLBOARD_NATS_CREDS" placeholder:"FILE" help:"A credentials file for NATS."`
	CA    File    `name:"nats-ca" setting:"CALLBOARD_NATS_CA" placeholder:"FILE" help:"The certificates of the authorities that NATS servers must be certified by, in PEM. It requires TLS. Default: the system's, without requiring TLS."`
	Cert  File    `name:"nats-cert" setting:"CALLBOARD_NATS_CERT" requires:"CALLBOARD_NATS_KEY" placeholder:"FILE" help:"The client certificate for NATS, in PEM."`
	Key   File    `name:"nats-key" setting:"CALLBOARD_NATS_KEY" requires:"CALLBOARD_NATS_CERT" placeholder:"FILE" help:"The private key of the client certificate, in PEM."`
	Inbox Subject `name:"nats-inbox" setting:"CALLBOARD_NATS_INBOX" default:"_INBOX" help:"The prefix of the subjects on which NATS replies. Give each NATS user its own."`
}

// KeyJournal holds the settings of [NATS], for commands that end keys.
type KeyJournal struct {
	URL NATSURL `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to the NATS servers, such as nats://127.0.0.1:4222. The revocations and expiries of keys are recorded in NATS, too, because a failover or a restore of PostgreSQL can lose them" placeholder:"URL" help:"The NATS servers, which record the revocations and expiries of keys, too."`
	NATSClient
}

// Stream holds the name of the stream of events.
type Stream struct {
	Name StreamName `name:"stream" setting:"CALLBOARD_STREAM" default:"PHONES" help:"The stream of events."`
}

// Postgres holds the URL of the primary.
type Postgres struct {
	URL PostgresURL `name:"postgres-url" setting:"CALLBOARD_POSTGRES_URL" secret:"" missing:"set it to the primary, such as postgres://user:password@host/callboard" placeholder:"URL" help:"The primary PostgreSQL."`
}

// Replica holds the URL of the server that the projection is read from.
type Replica struct {
	URL PostgresURL `name:"postgres-read-url" setting:"CALLBOARD_POSTGRES_READ_URL" secret:"" placeholder:"URL" help:"The PostgreSQL server that the projection is read from, such as a replica. Default: the primary."`
}

// Pepper holds the secrets under which API keys are hashed.
type Pepper struct {
	Peppers Peppers `name:"key-pepper" setting:"CALLBOARD_KEY_PEPPER" secret:"" missing:"set it to 32 random bytes in base64, the same for readapi and for 'callboard keys'; generate them with 'openssl rand -base64 32'" placeholder:"BASE64,..." help:"The secret under which API keys are hashed. While it is being replaced: several, the current one first. Do not put it on the command line."`
}

// WebhookKey holds the keys that encrypt the signing secrets of webhook endpoints.
type WebhookKey struct {
	Keys WebhookKeys `name:"webhook-key" setting:"CALLBOARD_WEBHOOK_KEY" secret:"" missing:"set it to 32 random bytes in base64, the same for webhooks and for 'callboard webhooks'; generate them with 'openssl rand -base64 32'" placeholder:"BASE64,..." help:"The key that encrypts the signing secrets of webhook endpoints. While it is being replaced: several, the current one first. Do not put it on the command line."`
}

// WebhookTargets says which addresses webhooks may be sent to.
type WebhookTargets struct {
	AllowNetworks Networks `name:"webhook-allow-networks" setting:"CALLBOARD_WEBHOOK_ALLOW_NETWORKS" placeholder:"CIDR,..." help:"Networks that endpoints may be in although they are private or reserved, on any port. Default: none."`
	Ports         Ports    `name:"webhook-ports" setting:"CALLBOARD_WEBHOOK_PORTS" default:"443,8443" placeholder:"PORT,..." help:"The ports that endpoints may have."`
	CA            File     `name:"webhook-ca-file" setting:"CALLBOARD_WEBHOOK_CA_FILE" placeholder:"FILE" help:"Certificates of authorities that endpoints may be certified by, in PEM, beside the system's."`
}

// Premium holds the allowance of the premium tier.
type Premium struct {
	PerMinute Allowance `name:"premium-per-minute" setting:"CALLBOARD_PREMIUM_PER_MINUTE" default:"600" help:"The number of requests per minute of a key of the premium tier."`
}

// Log holds the level and the format of the log.
type Log struct {
	Level  LogLevel  `name:"log-level" setting:"CALLBOARD_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	Format LogFormat `name:"log-format" setting:"CALLBOARD_LOG_FORMAT" default:"json" help:"json or console."`
}

// Variables maps the names of environment variables to their texts.
type Variables map[string]string

// Sorted yields the variables by name.
func (v Variables) Sorted() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !yield(name, v[name]) {
				return
			}
		}
	}
}
