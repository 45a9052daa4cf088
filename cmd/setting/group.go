package setting

// NATS is how a program reaches the NATS servers.
type NATS struct {
	URL   NATSURL `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to the NATS servers, nats://127.0.0.1:4222 for example" placeholder:"URL" help:"The NATS servers."`
	Creds File    `name:"nats-creds" setting:"CALLBOARD_NATS_CREDS" placeholder:"FILE" help:"A credentials file for NATS."`
}

// Stream is which stream has the events.
type Stream struct {
	Name StreamName `name:"stream" setting:"CALLBOARD_STREAM" default:"PHONES" help:"The stream of events."`
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

// Premium is what keys of the premium tier may ask for.
type Premium struct {
	PerMinute Allowance `name:"premium-per-minute" setting:"CALLBOARD_PREMIUM_PER_MINUTE" default:"600" help:"How many requests a minute a key of the premium tier may make."`
}

// Log is what a program logs, and how.
type Log struct {
	Level  LogLevel  `name:"log-level" setting:"CALLBOARD_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	Format LogFormat `name:"log-format" setting:"CALLBOARD_LOG_FORMAT" default:"json" help:"json or console."`
}
