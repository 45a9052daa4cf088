// Package dev runs NATS, PostgreSQL, a projector, a reader, a webhook sender and a sample of calls in one process, for use on a laptop.
//
// Projector, reader and sender are those of production. Each has its own connections and its own database role. The data directory
// holds:
//
//	lock        locked while an instance runs
//	nats/       JetStream's store
//	postgres    PostgreSQL's cluster, or a link to it (see schema/cluster)
//	audio/      the audio of the sample's recordings
//	key-pepper  a secret, generated once
//	cursor-key  a secret, generated once
//	webhook-*   a secret, and the certificate of 'callboard webhooks listen', generated once
//	key-id      the id of the API key of the last start
//	sample-*    the state of the published sample
//	env         settings with which other commands use the instance
//	log         the log of projector, reader, sender and NATS since the last start
package dev
