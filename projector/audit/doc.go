// Package audit files what readers say about requests: it takes audit entries from their stream and writes them to access.audit,
// each once, and the newest use of every key to access.key_use.
//
//	find the stream, its consumer ──> take what is there, for a moment ──> open the days it is about
//	      ▲                                        ▲                                 │
//	      │                                        │                     one statement: entries, uses
//	  any error:                                   │                                 │
//	 give the messages back,                       └──────────────── acknowledge ◄───┘
//	 back off
//
// All projectors share one consumer, and what one of them doesn't acknowledge another gets, so nothing here is owned and nothing
// is remembered: a message that is delivered twice finds its entries filed. An entry that PostgreSQL refuses, whose time
// can't be, or whose day was detached costs only itself; its message, and one that can't be read, is kept whole as a dead letter.
package audit
