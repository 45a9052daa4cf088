package sample

import (
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"callboard/events"
)

// Every line of the scripts is understood: headings have four words, and slots have something to fill them.
func TestScripts(t *testing.T) {
	l := newLibrary()
	if len(l.trades) < 5 || len(l.exchanges) < 20 || len(l.first) < 50 || len(l.last) < 50 {
		t.Fatalf("%d trades, %d exchanges, %d first and %d last names", len(l.trades), len(l.exchanges), len(l.first), len(l.last))
	}
	topics := 0
	for _, trade := range l.trades {
		for _, kind := range []string{"inbound", "outbound", "internal", "brief", "message", "opening", "closing", "greeting", "filler", "more"} {
			if len(trade.topics[kind]) == 0 {
				t.Errorf("nothing %s to talk about", kind)
			}
			for _, topic := range trade.topics[kind] {
				checkTopic(t, trade, kind, topic)
			}
		}
		for _, own := range trade.script.topics {
			topics += len(own)
		}
		if trade.from <= 0 || trade.from >= trade.to || trade.hours[1].from >= trade.hours[1].to {
			t.Errorf("prices %d to %d, Tuesday %v", trade.from, trade.to, trade.hours[1])
		}
		if n := len(trade.topics["filler"]); n%fillerStep == 0 {
			t.Errorf("steps of %d don't reach each of %d fillers", fillerStep, n)
		}
	}
	if topics < 48 {
		t.Errorf("%d topics of the trades' own", topics)
	}
}

func checkTopic(t *testing.T, trade *trade, kind string, topic *topic) {
	t.Helper()
	if len(topic.beats) == 0 {
		t.Errorf("%s %s: nothing is said", kind, topic.category)
	}
	last := 0
	for _, b := range topic.beats {
		if b.aligned && len(b.wordings) < last {
			t.Errorf("%s %s: %v has too few wordings to be aligned", kind, topic.category, b.wordings)
		}
		last = len(b.wordings)
		for _, w := range b.wordings {
			for i := 1; i < len(w); i += 2 {
				switch name := strings.TrimSuffix(w[i], "2"); name {
				case "business", "agent", "caller", "first", "last", "number", "price":
				default:
					if len(trade.lists[name]) == 0 {
						t.Errorf("%s %s: nothing fills {%s}", kind, topic.category, w[i])
					}
				}
			}
		}
	}
}

func TestScripts_Headings(t *testing.T) {
	names, err := fs.Glob(data, "data/trades/*.txt")
	if err != nil || len(names) != len(newLibrary().trades) {
		t.Fatalf("%d scripts: %v", len(names), err)
	}
	for _, name := range append(names, "data/common.txt") {
		for line := range strings.Lines(read(name)) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, ": ") && len(strings.Fields(line)) != 4 {
				t.Errorf("%s: %q is neither a heading nor a line", name, line)
			}
			if !utf8.ValidString(line) || strings.Count(line, "{") != strings.Count(line, "}") {
				t.Errorf("%s: %q is malformed", name, line)
			}
		}
	}
}

// Transcripts differ, keep within their call, and have no slot left open.
func TestTranscripts(t *testing.T) {
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
	if len(texts) < len(transcripts)*95/100 {
		t.Errorf("only %d different texts in %d transcripts", len(texts), len(transcripts))
	}
	for _, s := range transcripts {
		if strings.ContainsAny(s.Text.Value, "{}|") || !utf8.ValidString(s.Text.Value) {
			t.Errorf("text %q", s.Text.Value)
		}
		length, ok := durations[s.OwnerRow().Key()]
		if !ok {
			continue // deleted before its transcript was kept here, or not yet published
		}
		checkTurns(t, s, float64(length))
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
			t.Errorf("turn %d from %v to %v, after %v, in a call of %v s", i, start, end, last, length)
		}
		last = end
	}
}

func TestBeginsSentence(t *testing.T) {
	for _, c := range []struct {
		before string
		first  bool
		want   bool
	}{{"", true, true}, {"", false, false}, {"Hello. ", false, true}, {"Hello, ", true, false}, {"What? ", false, true}} {
		if got := beginsSentence(c.before, c.first); got != c.want {
			t.Errorf("%q: %v", c.before, got)
		}
	}
}
