// Package events defines callboard's input: the change events that a phone platform publishes on NATS JetStream.
//
// A message is a CloudEvents 1.0 event in the NATS binding's binary mode (structured mode is accepted too). Its
// subject is phones.<system>.<entity>. The stream stores it as phones.<partition>.<system>.<entity>, where the
// partition is a hash of the system alone: all events of one phone system are in one partition, in order.
//
// Every event carries full state: "changed" has the entity's whole new state, and "deleted" its key. The version
// rises with every change of an entity, and a consumer ignores an event whose version is not above the one that it
// applied last.
//
// [Decode] is strict. It reports every problem of a message with its JSON pointer and never repairs text: invalid
// UTF-8, lone surrogates, NUL characters and duplicate members are problems. Publishing services import [Publisher].
package events
