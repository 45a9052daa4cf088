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
// All projectors share one consumer, and what one of them does not acknowledge is delivered to another. So writers own nothing and
// remember nothing: a message that is delivered twice finds its entries stored. An entry that PostgreSQL refuses, whose time is
// implausible, or whose day was detached does not hold up the others; its message becomes a dead letter, and so does a message that
// cannot be decoded.
package audit
