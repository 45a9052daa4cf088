// Package dev runs all of callboard in one process, for a laptop: NATS, PostgreSQL, projector, reader and a sample of calls.
//
// The projector and the reader are those of production: each connects by itself, under its own role, and they meet in tables.
// All that is kept lies in one folder:
//
//	lock        held while an instance runs
//	nats/       JetStream's store
//	postgres    PostgreSQL's cluster, or a link to it (see schema/cluster)
//	audio/      the clips that the sample's recordings name
//	key-pepper  secrets, made once
//	cursor-key
//	sample-*    which sample the stream has
//	env         the settings under which other commands talk to the instance
//	log         what projector, reader and NATS logged since the last start
package dev
