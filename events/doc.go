// Package events is the vocabulary of callboard's input: the change events that a phone platform publishes on NATS JetStream.
//
// A message is a CloudEvents 1.0 event in the NATS binding's binary mode (structured mode is read too). Its subject is
// phones.<system>.<entity>; the stream stores it as phones.<partition>.<system>.<entity>, where the partition is a hash of
// the system alone, so everything of one phone system is in one partition and in order.
//
// Every event is full state: "changed" carries the entity's whole new state and "deleted" its key. Version rises with every
// change of an entity, and a reader ignores what is not above the version it applied last.
//
// [Decode] is strict. It reports every problem of a message with its JSON pointer and never repairs text: bad UTF-8, lone
// surrogates, NUL characters and duplicate members are problems. [Publisher] is what upstream teams import to publish.
package events
