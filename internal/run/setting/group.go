package setting

import (
	"net/netip"

	"callboard/events/webhook"
	"callboard/readapi/access"
)

// NATS holds the settings of the connection to NATS.
type NATS struct {
	URL   URL    `name:"nats-url" type:"nats-url" setting:"" secret:"" missing:"set it to the NATS servers, such as nats://127.0.0.1:4222" placeholder:"URL" help:"The NATS servers."`
	Creds string `name:"nats-creds" type:"file" setting:"" placeholder:"FILE" help:"A credentials file for NATS."`
	CA    string `name:"nats-ca" type:"file" setting:"" placeholder:"FILE" help:"The certificates of the authorities that NATS servers must be certified by, in PEM. It requires TLS. Default: the system's, without requiring TLS."`
	Cert  string `name:"nats-cert" type:"file" setting:"" and:"nats-cert" placeholder:"FILE" help:"The client certificate for NATS, in PEM."`
	Key   string `name:"nats-key" type:"file" setting:"" and:"nats-cert" placeholder:"FILE" help:"The private key of the client certificate, in PEM."`
	Inbox string `name:"nats-inbox" type:"subject" setting:"" default:"_INBOX" help:"The prefix of the subjects on which NATS replies. Give each NATS user its own."`
}

// Stream holds the name of the stream of events.
type Stream struct {
	Name string `name:"stream" type:"stream" setting:"" default:"PHONES" help:"The stream of events."`
}

// Postgres holds the URL of the primary.
type Postgres struct {
	URL URL `name:"postgres-url" type:"postgres-url" setting:"" secret:"" missing:"set it to the primary, such as postgres://user:password@host/callboard" placeholder:"URL" help:"The primary PostgreSQL."`
}

// Pepper holds the secrets under which API keys are hashed.
type Pepper struct {
	Peppers []access.Pepper `name:"key-pepper" type:"peppers" setting:"" secret:"" missing:"set it to 32 random bytes in base64, the same for readapi and for 'callboard keys'; generate them with 'openssl rand -base64 32'" placeholder:"BASE64,..." help:"The secret under which API keys are hashed. While it is being replaced: several, the current one first. Do not put it on the command line."`
}

// WebhookKey holds the keys that encrypt the signing secrets of webhook endpoints.
type WebhookKey struct {
	Keys []webhook.Key `name:"webhook-key" type:"webhook-keys" setting:"" secret:"" missing:"set it to 32 random bytes in base64, the same for webhooks and for 'callboard webhooks'; generate them with 'openssl rand -base64 32'" placeholder:"BASE64,..." help:"The key that encrypts the signing secrets of webhook endpoints. While it is being replaced: several, the current one first. Do not put it on the command line."`
}

// WebhookTargets says which addresses webhooks may be sent to.
type WebhookTargets struct {
	AllowNetworks []netip.Prefix `name:"webhook-allow-networks" type:"networks" setting:"" placeholder:"CIDR,..." help:"Networks that endpoints may be in although they are private or reserved, on any port. Default: none."`
	Ports         []uint16       `name:"webhook-ports" type:"ports" setting:"" min:"1" default:"443,8443" placeholder:"PORT,..." help:"The ports that endpoints may have."`
	CA            string         `name:"webhook-ca-file" type:"file" setting:"" placeholder:"FILE" help:"Certificates of authorities that endpoints may be certified by, in PEM, beside the system's."`
}

// WebhookRetention says how long webhooks are remembered.
type WebhookRetention struct {
	Days int `name:"webhook-days" type:"count" setting:"" min:"1" max:"36500" default:"30" help:"For how many days notices, deliveries and attempts are stored."`
}

// Log holds the level and the format of the log.
type Log struct {
	Level  string `name:"log-level" type:"log-level" setting:"" default:"info" help:"debug, info, warn or error."`
	Format string `name:"log-format" type:"log-format" setting:"" default:"json" help:"json or console."`
}

// Admin holds the address of the listener of operators.
type Admin struct {
	Listen string `name:"admin-listen" type:"address" setting:"" default:"${admin_listen}" help:"The address of /livez, /readyz, /metrics and /debug/pprof/, and of the projector's console. It must not be public."`
}
