// Package audit writes the readers' audit entries from their stream to access.audit, each entry once, and the newest
// use of every key to access.key_use.
//
//	find the stream and the position ──> fetch messages for a moment ──> open the days of their entries
//	      ▲                                     ▲                                   │
//	      │                                     │               one transaction: position, entries, last uses
//	  any error:                                │                                   │
//	  back off                                  └───────────────────────────────────┘
//
// The position is a row that is committed with the entries of the messages up to it. Nothing is acknowledged, and the
// stream keeps its messages. So a failover that loses the last commits loses nothing: the row is older, too, and the
// messages after it are read again. An entry that is read again is found stored.
//
// Writers own nothing. Each transaction moves the position from where its writer has read it, so of two writers one
// stores and the other one stands by. An entry does not delay the others if PostgreSQL refuses it, its time is
// implausible, or its day was detached. Its message becomes a dead letter, and so does a message that cannot be
// decoded.
package audit
