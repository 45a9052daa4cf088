package setting

// NATS is how a program reaches the stream.
type NATS struct {
	URL    NATSURL    `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to the NATS servers, nats://127.0.0.1:4222 for example" placeholder:"URL" help:"The NATS servers."`
	Creds  File       `name:"nats-creds" setting:"CALLBOARD_NATS_CREDS" placeholder:"FILE" help:"A credentials file for NATS."`
	Stream StreamName `name:"stream" setting:"CALLBOARD_STREAM" default:"PHONES" help:"The stream of events."`
}

// Postgres is how a program reaches the primary.
type Postgres struct {
	URL PostgresURL `name:"postgres-url" setting:"CALLBOARD_POSTGRES_URL" secret:"" missing:"set it to the primary, postgres://user:password@host/callboard for example" placeholder:"URL" help:"The primary PostgreSQL."`
}

// Replica is where the projection is read.
type Replica struct {
	URL PostgresURL `name:"postgres-read-url" setting:"CALLBOARD_POSTGRES_READ_URL" secret:"" placeholder:"URL" help:"Where the projection is read, a replica for example; the primary by default."`
}

// Pepper is what API keys are hashed under.
type Pepper struct {
	Peppers Peppers `name:"key-pepper" setting:"CALLBOARD_KEY_PEPPER" secret:"" missing:"set it to 32 random bytes in base64, the same for the reader and for 'keys'; make them with 'openssl rand -base64 32'" placeholder:"BASE64,..." help:"What API keys are hashed under; several while one replaces another, the current one first. Better not on the command line."`
}

// Log is what a program logs, and how.
type Log struct {
	Level  LogLevel  `name:"log-level" setting:"CALLBOARD_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	Format LogFormat `name:"log-format" setting:"CALLBOARD_LOG_FORMAT" default:"json" help:"json or console."`
}
