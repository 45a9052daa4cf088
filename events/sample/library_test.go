package sample

import (
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"callboard/events"
)

// All kinds of topics exist, and all placeholders have values.
func TestLibrary(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	if len(l.trades) < 5 || len(l.exchanges) < 20 || len(l.first) < 50 || len(l.last) < 50 {
		t.Fatalf("library = %d trades, %d exchanges, %d first and %d last names, want at least 5, 20, 50, 50",
			len(l.trades), len(l.exchanges), len(l.first), len(l.last))
	}
	topics := 0
	for _, trade := range l.trades {
		for _, kind := range []string{"inbound", "outbound", "internal", "brief", "message", "opening", "closing", "greeting", "filler", "more"} {
			if len(trade.topics[kind]) == 0 {
				t.Errorf("topics of kind %s = 0, want some", kind)
			}
			for _, topic := range trade.topics[kind] {
				checkTopic(t, trade, kind, topic)
			}
		}
		for _, own := range trade.script.topics {
			topics += len(own)
		}
		if trade.from <= 0 || trade.from >= trade.to || trade.hours[1].from >= trade.hours[1].to {
			t.Errorf("prices = %d to %d, Tuesday = %v, want both not empty", trade.from, trade.to, trade.hours[1])
		}
		if n := len(trade.topics["filler"]); n%fillerStep == 0 {
			t.Errorf("fillers = %d, want no multiple of %d", n, fillerStep)
		}
	}
	if topics < 48 {
		t.Errorf("topics of trades = %d, want at least 48", topics)
	}
}

func checkTopic(t *testing.T, trade *trade, kind string, topic *topic) {
	t.Helper()
	if len(topic.lines) == 0 {
		t.Errorf("%s %s: lines = 0, want some", kind, topic.category)
	}
	before := 0
	for _, l := range topic.lines {
		if l.aligned && len(l.variants) < before {
			t.Errorf("%s %s: variants = %v, want %d as in the line before", kind, topic.category, l.variants, before)
		}
		before = len(l.variants)
		for _, p := range l.variants {
			for i := 1; i < len(p); i += 2 {
				switch name := strings.TrimSuffix(p[i], "2"); name {
				case "business", "agent", "caller", "first", "last", "number", "price":
				default:
					if len(trade.lists[name]) == 0 {
						t.Errorf("%s %s: placeholder {%s} has no values", kind, topic.category, p[i])
					}
				}
			}
		}
	}
}

func TestScripts_Format(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(data, "data/trades/*.txt")
	if err != nil || len(names) != len(newLibrary().trades) {
		t.Fatalf("scripts = %d, %v, want %d", len(names), err, len(newLibrary().trades))
	}
	for _, name := range append(names, "data/common.txt") {
		for line := range strings.Lines(string(read(name))) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, ": ") && len(strings.Fields(line)) != 4 {
				t.Errorf("%s: %q is neither a heading of four words nor a line", name, line)
			}
			if !utf8.ValidString(line) || strings.Count(line, "{") != strings.Count(line, "}") {
				t.Errorf("%s: %q is malformed", name, line)
			}
		}
	}
}

// Transcripts differ, are not longer than their call, and have no unfilled placeholder.
func TestHistory_Transcripts(t *testing.T) {
	t.Parallel()
	texts, durations := map[string]int{}, map[string]int64{}
	var transcripts []*events.Transcript
	for e := range New(Config{Seed: 11, Systems: 6, Calls: 6000}).History() {
		switch s := e.State.(type) {
		case *events.Call:
			durations["call/"+e.Key] = s.Duration.Value
		case *events.Voicemail:
			durations["voicemail/"+e.Key] = s.Duration
		case *events.Transcript:
			if s.Status == events.TranscriptCompleted && s.Text.Value != "" {
				texts[s.Text.Value]++
				transcripts = append(transcripts, s)
			}
		}
	}
	if len(transcripts) == 0 || len(texts) < len(transcripts)*95/100 {
		t.Errorf("different texts = %d in %d transcripts, want at least 95%%", len(texts), len(transcripts))
	}
	for _, s := range transcripts {
		if strings.ContainsAny(s.Text.Value, "{}|") || !utf8.ValidString(s.Text.Value) {
			t.Errorf("text = %q, want valid UTF-8 without placeholders", s.Text.Value)
		}
		// The call of a transcript may not be published within the period.
		if length, ok := durations[s.OwnerRow().Key()]; ok {
			checkTurns(t, s, float64(length))
		}
	}
}

func checkTurns(t *testing.T, s *events.Transcript, length float64) {
	t.Helper()
	last := 0.0
	for i, turn := range s.Turns {
		if !turn.StartSeconds.Valid {
			continue
		}
		start, end := turn.StartSeconds.Value, turn.EndSeconds.Value
		if start < last || end < start || end > length {
			t.Errorf("turn %d = %v to %v s, want one from %v to %v s", i, start, end, last, length)
		}
		last = end
	}
}

func TestBeginsSentence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before string
		first  bool
		want   bool
	}{{"", true, true}, {"", false, false}, {"Hello. ", false, true}, {"Hello, ", true, false}, {"What? ", false, true}} {
		if got := beginsSentence(c.before, c.first); got != c.want {
			t.Errorf("beginsSentence(%q, %t) = %t, want %t", c.before, c.first, got, c.want)
		}
	}
}
