// Package secrets creates the secrets of an installation as files in one folder.
//
//	key-pepper, cursor-key   32 random bytes in base64
//	postgres-ROLE-password   of the owner, the projector, the reader and the operator
//	postgres-ROLE-url        with that password
//	nats-USER-url            of the owner, the publishers, the programs, the operator and who revokes keys, each with a different password
//	nats-passwords.conf      variables of the NATS server's configuration: bcrypt hashes of these passwords
//
// Existing files are never changed. A file is complete as soon as it is visible, so an interrupted run can be repeated, and two runs at
// once leave files that fit together.
package secrets
