// Package audit writes the readers' audit entries from their stream to access.audit, each entry once, and the newest use of every key
// to access.key_use.
//
//	find the stream, its consumer ──> fetch messages for a moment ──> open the days of their entries
//	      ▲                                     ▲                              │
//	      │                                     │               one statement: entries, last uses
//	  any error:                                │                              │
//	  return the messages (NAK),                └──────── acknowledge ◄────────┘
//	  back off
//
// All projectors share one consumer, and what one of them does not acknowledge is delivered to another. So writers own nothing and remember
// nothing: a message that is delivered twice finds its entries stored. An entry does not delay the others if PostgreSQL refuses it, its time
// is implausible, or its day was detached. Its message becomes a dead letter, and so does a message that cannot be decoded.
package audit
