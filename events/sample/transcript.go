package sample

import (
	"strings"

	"callboard/events"
)

func (l *leg) publishTranscript(at events.Time, status string) events.Event {
	l.transcript.Version++
	state := l.transcript
	state.Status = status
	return publish(events.Changed(&state), at)
}

func (l *leg) queueTranscript(at events.Time) events.Event {
	return l.publishTranscript(at, events.TranscriptQueued)
}

func (l *leg) runTranscript(at events.Time) events.Event {
	return l.publishTranscript(at, events.TranscriptRunning)
}

func (l *leg) failTranscript(at events.Time) events.Event {
	return l.publishTranscript(at, events.TranscriptFailed)
}

func (l *leg) skipTranscript(at events.Time) events.Event {
	return l.publishTranscript(at, events.TranscriptSkipped)
}

func (l *leg) removeTranscript(at events.Time) events.Event {
	if l.dice.chance(300) {
		l.transcript.Version++
		return publish(events.Deleted(l.transcript.Identity()), at)
	}
	return l.publishTranscript(at, events.TranscriptRemoved)
}

// manner is how well a transcription told the voices apart.
type manner int

const (
	byRole manner = iota
	byVoice
	unattributed
	asText // no turns at all
	silent // nothing was understood, not even a word
)

// storeTranscript publishes the text. The leg doesn't keep it: it is long, and nothing is said about it again.
func (l *leg) storeTranscript(at events.Time) events.Event {
	how := manner(l.dice.weighted(800, 70, 60, 60, 10))
	if l.script == "internal" && how == byRole {
		how = byVoice // two colleagues are neither agent nor customer
	}
	l.transcript.Version++
	state := l.transcript
	state.Status = events.TranscriptCompleted
	if how == silent {
		state.Text = events.Some("")
		return publish(events.Changed(&state), at)
	}
	said := l.converse()
	state.Text = events.Some(join(said))
	if how != asText {
		state.Turns = l.turns(said, how)
	}
	return publish(events.Changed(&state), at)
}

func join(said []spoken) string {
	size := len(said)
	for _, s := range said {
		size += len(s.text)
	}
	var b strings.Builder
	b.Grow(size)
	for i, s := range said {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.text)
	}
	return b.String()
}

// turns spreads what is said over the call. Everybody takes as long as the words need at one pace, which is a natural one or, where the
// call is too short for it, a quicker one.
func (l *leg) turns(said []spoken, how manner) []events.Turn {
	const pause, perWord = 60, 38 // hundredths of a second
	natural := 0
	for _, s := range said {
		natural += pause + s.words*perWord
	}
	length := int(l.talk) * 100
	// A call that is long for its words has longer pauses.
	stretch := min(max(length-natural, 0)/len(said), 250)
	natural += stretch * len(said)
	scaled := func(at int) events.Null[float64] {
		return events.Some(float64(at*min(length, natural)/natural) / 100)
	}
	timed, sure := !l.dice.chance(40), !l.dice.chance(150)
	turns := make([]events.Turn, len(said))
	at := 0
	for i, s := range said {
		turns[i] = events.Turn{Text: s.text, Speaker: s.speaker(how)}
		begin := at + (pause+stretch)/2
		at += pause + stretch + s.words*perWord
		if timed {
			turns[i].StartSeconds, turns[i].EndSeconds = scaled(begin), scaled(at-(pause+stretch)/2)
		}
		if sure {
			turns[i].Confidence = l.dice.hundredths(71, 99)
		}
	}
	return turns
}

func (s spoken) speaker(how manner) events.Speaker {
	switch {
	case how == unattributed:
		return events.Speaker{Kind: "unattributed"}
	case how == byVoice && s.agent:
		return events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](1)}
	case how == byVoice:
		return events.Speaker{Kind: "numbered", Ordinal: events.Some[int64](2)}
	case s.agent:
		return events.Speaker{Kind: "role", Role: "agent"}
	}
	return events.Speaker{Kind: "role", Role: "customer"}
}
