package sample

import (
	"embed"
	"strings"

	"callboard/events"
)

//go:embed data
var data embed.FS

// texts are the words of one trade, from two files: one for all trades, and its own.
//
//	key: text | text            a list; {key} in a line stands for one of its texts, {key2} for a second one
//	kind category outcome tone  begins a topic; "-" is none
//	a: text | text              the business says one of these
//	c: text | text              the caller says one of these
//	=a: text | text             the text that answers the one at the same position in the line before
type texts struct {
	lists  map[string][]string
	topics map[string][]topic // by kind
}

// topic is what a conversation, or a part of one, is about.
type topic struct {
	category, outcome string // codes; empty for none
	tone              string // how people usually feel about it: plain, good or bad
	lines             []line
}

// line is what one person says.
type line struct {
	agent    bool // of the business
	answer   bool // to the text at the same position in the line before
	variants []string
}

func trades() []string { return []string{"dental", "garage", "law", "vet", "plumbing", "bakery"} }

// readTexts reads the texts of a trade. A test checks that the files exist and have this form.
func readTexts(trade string) *texts {
	common, _ := data.ReadFile("data/common.txt")
	own, _ := data.ReadFile("data/" + trade + ".txt")
	t := &texts{map[string][]string{}, map[string][]topic{}}

	// A row is a heading of a topic, a line of it, or a list of alternatives.
	kind := ""
	for row := range strings.Lines(string(common) + "\n" + string(own)) {
		key, value, found := strings.Cut(strings.TrimSpace(row), ": ")
		speaker, answer := strings.CutPrefix(key, "=")

		switch {
		case key == "":
		case !found:
			heading := strings.Fields(key)
			kind = heading[0]
			category, outcome := strings.TrimPrefix(heading[1], "-"), strings.TrimPrefix(heading[2], "-")
			t.topics[kind] = append(t.topics[kind], topic{category: category, outcome: outcome, tone: heading[3]})

		case speaker == "a" || speaker == "c":
			current := &t.topics[kind][len(t.topics[kind])-1]
			current.lines = append(current.lines, line{speaker == "a", answer, strings.Split(value, " | ")})

		default:
			t.lists[key] = strings.Split(value, " | ")
		}
	}

	return t
}

// conversation collects what people say. A placeholder keeps its value to the end.
type conversation struct {
	random
	*texts
	values map[string]string // of placeholders
	said   []string
	turns  []events.Turn
	length int // hundredths of a second
}

// hold holds a conversation of a kind about a topic. One between the business and a caller has small talk, and is
// longer or shorter by that.
func (c *conversation) hold(kind string, about topic) {
	opening, polite := map[string]string{"inbound": "opening", "outbound": "greeting"}[kind]
	if !polite {
		c.say(about)
		return
	}

	c.say(pick(c.random, c.topics[opening]))
	c.say(about)

	// Each filler makes the conversation longer, and comes once at most.
	fillers := c.topics["filler"]
	for _, i := range c.Perm(len(fillers))[:min(int(c.around(40)/10), len(fillers))] {
		c.say(fillers[i])
	}

	c.say(pick(c.random, c.topics["closing"]))
}

// say adds a topic's lines, at a natural speed.
func (c *conversation) say(t topic) {
	const pause, perWord = 60, 38 // hundredths of a second
	variant := 0
	for _, l := range t.lines {
		// An answer fits the variant that was said last.
		if !l.answer {
			variant = c.IntN(len(l.variants))
		}

		text := c.fill(l.variants[variant])
		role := "customer"
		if l.agent {
			role = "agent"
		}
		c.said = append(c.said, text)

		// The number of words decides how long a line takes.
		begin := c.length + pause
		c.length = begin + perWord*(strings.Count(text, " ")+1)
		c.turns = append(c.turns, events.Turn{
			Text: text, Speaker: events.Speaker{Kind: "role", Role: role}, Confidence: c.hundredths(71, 99),
			StartSeconds: events.Some(float64(begin) / 100), EndSeconds: events.Some(float64(c.length) / 100),
		})
	}
}

// fill replaces placeholders and begins every sentence with a capital letter.
func (c *conversation) fill(text string) string {
	var filled []byte
	before, rest, found := strings.Cut(text, "{")
	for found {
		name, after, _ := strings.Cut(rest, "}")
		filled = append(append(filled, before...), c.value(name)...)
		before, rest, found = strings.Cut(after, "{")
	}
	filled = append(filled, before...)

	// A placeholder can begin a sentence, so the capitals come after the replacement.
	begins := true
	for i, letter := range filled {
		if begins && 'a' <= letter && letter <= 'z' {
			filled[i] -= 'a' - 'A'
		}
		begins = begins && letter == ' ' || strings.IndexByte(".?!", letter) >= 0
	}
	return string(filled)
}

func (c *conversation) value(name string) string {
	value, found := c.values[name]
	if !found {
		value = pick(c.random, c.lists[strings.TrimSuffix(name, "2")])
		c.values[name] = value
	}
	return value
}
