package sample

import "strings"

// script is a parsed text file of data: lists of words, and topics to talk about.
//
//	key: value | value           a list; {key} in a line stands for one of its values
//	kind category outcome mood   begins a topic; "-" is none
//	a: text | text               the agent says one of these
//	c: text | text               the customer does
//	?c: text | text              only sometimes; beats in a row that begin so come or stay away together
//	=a: text | text              the text in the place of the one before, an answer to a question perhaps; ?=a is both
type script struct {
	lists  map[string][]string
	topics map[string][]*topic // by kind: inbound, outbound, internal, brief, message, opening ...
}

// topic is something that a conversation can be about.
type topic struct {
	category, outcome string // codes; empty for none
	mood              mood
	beats             []beat
}

// mood is how a topic usually leaves people.
type mood int

const (
	plain mood = iota
	good
	bad
)

// beat is one person's turn, in as many wordings as it has.
type beat struct {
	agent    bool
	optional bool
	aligned  bool // to the choice of wording before
	wordings []wording
}

// wording is text and slots in turn: the elements at odd places are slots' names.
type wording []string

func parseScript(text string) *script {
	s := &script{lists: map[string][]string{}, topics: map[string][]*topic{}}
	var open *topic
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, said := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !said:
			open = s.addTopic(strings.Fields(line))
		case open == nil:
			s.lists[key] = strings.Split(value, " | ")
		default:
			open.beats = append(open.beats, parseBeat(key, value))
		}
	}
	return s
}

// addTopic begins the topic that a heading names. The headings are ours: one with other than four words is a slip that
// a test finds.
func (s *script) addTopic(heading []string) *topic {
	t := &topic{category: code(heading[1]), outcome: code(heading[2])}
	switch heading[3] {
	case "good":
		t.mood = good
	case "bad":
		t.mood = bad
	}
	s.topics[heading[0]] = append(s.topics[heading[0]], t)
	return t
}

func code(word string) string {
	if word == "-" {
		return ""
	}
	return word
}

func parseBeat(key, value string) beat {
	speaker, optional := strings.CutPrefix(key, "?")
	speaker, aligned := strings.CutPrefix(speaker, "=")
	b := beat{agent: speaker == "a", optional: optional, aligned: aligned}
	for text := range strings.SplitSeq(value, " | ") {
		b.wordings = append(b.wordings, parseWording(text))
	}
	return b
}

func parseWording(text string) wording { return strings.Split(strings.ReplaceAll(text, "{", "}"), "}") }
