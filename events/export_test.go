package events

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// FetchBodiesWithPause is [FetchBodies] with another pause after the first attempt.
func FetchBodiesWithPause(
	ctx context.Context, js jetstream.JetStream, transcripts []*Transcript, pause time.Duration,
) (invalid []error, err error) {
	return fetchBodies(ctx, js, transcripts, pause)
}

// LimitRows returns the table of limits as asyncapi.yaml has it.
func LimitRows() []string {
	n := func(limit int) string {
		digits := strconv.Itoa(limit)
		for at := len(digits) - 3; at > 0; at -= 3 {
			digits = digits[:at] + "," + digits[at:]
		}
		return digits
	}
	row := func(part, format string, limits ...int) string {
		texts := make([]any, len(limits))
		for i, limit := range limits {
			texts[i] = n(limit)
		}
		return "| " + part + " | " + fmt.Sprintf(format, texts...) + " |"
	}
	return []string{
		row("a text without a limit of its own", "%s bytes of UTF-8", maxText),
		row("`ce-id`, `ce-source`", "%s bytes of UTF-8", maxAttribute),
		row("`callSid`, `parentCallSid`, `recordingSid`", "%s characters", maxCallSid),
		row("`object.name`", "%s bytes of UTF-8", maxObjectName),
		row("`audio.key`", "%s bytes of UTF-8", maxAudioKey),
		row("`routeSummary`", "%s bytes of UTF-8", maxRouteSummary),
		row("a list without a limit of its own", "%s elements", maxElements),
		row("`tags`", "%s elements, their texts together %s bytes of JSON", maxTags, maxTagTexts),
		row("`coachingTips`", "%s elements, together %s bytes of JSON", maxTips, maxTipTexts),
		row("`choices`", "%s elements, their labels and literals together %s bytes of JSON", maxElements, maxChoiceTexts),
		row("`turns`", "%s elements", maxTurns),
		row("`text` and `turns`, also in the entry of a claim check", "%s bytes of JSON", maxTranscript),
		row("a message's data, and the entry of a claim check",
			"%s bytes, %s values (texts, numbers, literals, objects and arrays, in members of any name)", maxMessageBytes, maxValues),
	}
}
