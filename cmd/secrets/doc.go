// Package secrets creates the secrets of an installation as files in one folder.
//
//	key-pepper, cursor-key, webhook-key   32 random bytes in base64
//	postgres-ROLE-password   of the owner, the projector, the reader, the senders of webhooks and the operator
//	postgres-ROLE-url        with that password
//	nats-USER-url            of the owner, the publishers, the programs, the operator and who revokes keys, each with a different password
//	nats-passwords.conf      variables of the NATS server's configuration: bcrypt hashes of these passwords
//
// Several NATS servers also get
//
//	nats-cluster.conf        a part of their configuration: the cluster, with a password for the routes between them
//
// and replicas of the database
//
//	postgres-standby-password     of the role that standbys connect as
//	postgres-reader-replica-url   where readers read the projection: the replicas, then the primary
//	webhook-read-urls             all replicas, for the senders of webhooks
//
// Existing files are kept. A file is complete as soon as it is visible, so an interrupted run can be repeated, and two runs at once leave files
// that fit together.
package secrets
