package events

// The limits of an event. Decode, and so Encode and Publisher, refuse an event that exceeds one. asyncapi.yaml has
// this table, and the JSON Schemas have the same values as maxLength, maxItems and x-max-bytes.
const (
	// Bytes of UTF-8.
	maxText         = 1024 // of a text without a limit of its own; an index row of PostgreSQL has 2,704, and none has two texts
	maxAttribute    = 1024 // of ce-id and of ce-source
	maxObjectName   = 512  // of a claim check: it is part of a subject, and a server closes the connection of a client with a long one
	maxAudioKey     = 1024 // the longest key of an S3 bucket
	maxRouteSummary = 8 << 10

	// Characters.
	maxCallSid = 64 // filters accept no more

	// Elements.
	maxElements = 1000 // of a list without a limit of its own
	maxTags     = 200
	maxTips     = 100
	maxTurns    = 50_000

	// Bytes of JSON, as callboard serves it. A report row with its transcript has at most 5,500,000.
	maxTagTexts    = 64 << 10  // the texts of all tags of a call
	maxTipTexts    = 32 << 10  // all coaching tips of an analysis
	maxChoiceTexts = 64 << 10  // the labels and literals of all choices of a call menu
	maxTranscript  = 5_000_000 // text and turns

	// Memory: any message or body within these two is decoded in 64 MiB.
	maxValues       = 200_000 // names and structure aside: texts, numbers, literals, objects and arrays, unknown members included
	maxMessageBytes = 8 << 20 // of a message's data

	// MaxBodyBytes is the largest entry of the object store that a claim check may name.
	MaxBodyBytes = maxMessageBytes
)
