// Package sample is a simulated phone company: small businesses with their phones, people and callers, and the change events
// that all of it publishes. It feeds demonstrations, load tests and whoever wants to see callboard with something in it.
//
// A [Company] is a function of its [Config]. The same configuration yields the same events, byte for byte, on every machine:
// identifiers, times and texts come from the seed, no clock is read, and no floating-point arithmetic decides anything that
// a processor may round in its own way.
//
//	Directory   phone systems, groups, extensions, phones, numbers, agents, call groups, menus, representatives, classifications
//	History     the calls of the window with recordings, transcripts, analyses and voicemails, with edits, renames, deletions
//	Live        further calls that end when the caller says so
//
// Events come in publishing order; their times never step back within one sequence. What a business does later to a call
// (a transcript arrives, someone corrects the outcome) waits on an agenda whose length depends on the number of phone systems and on
// how many calls are under way at once. A long history needs no more memory than a short one.
//
// A call lives so; each arrow is an event, and each line may end early:
//
//	call         -> ended (-> outcome known) (-> edited) (-> deleted)
//	recording    -> processing -> ready | unavailable (-> deleted)
//	transcript   (-> queued) (-> running) -> completed | failed | skipped (-> removed)
//	analysis     (-> pending) (-> processing) -> completed | failed
//	voicemail    -> left (-> listened) (-> archived) (-> deleted)
//
// Now and then a call's recording, transcript and analysis are published before the call itself, as happens where several services publish.
// What would happen after the window's end has not happened: the newest calls are left as they stand then.
//
// Recordings point to a few generated clips, which [Audio] returns as WAV. A clip is chosen by length but is seldom as long as its call.
// Phone numbers come from the ranges that regulators keep free for fiction, and every address on the web ends in .example.
package sample
