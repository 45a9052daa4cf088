package sample

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed data
var data embed.FS

// library is the text and the lists from which companies are built.
type library struct {
	first, last, places []string
	exchanges           []exchange
	trades              []*trade
}

func newLibrary() *library {
	l := &library{first: readLines("data/first.txt"), last: readLines("data/last.txt"), places: readLines("data/places.txt")}
	for _, line := range readLines("data/exchanges.txt") {
		l.exchanges = append(l.exchanges, parseExchange(line))
	}
	common := parseScript(string(read("data/common.txt")))
	for _, name := range []string{"dental", "garage", "law", "vet", "plumbing", "bakery"} {
		l.trades = append(l.trades, newTrade(parseScript(string(read("data/trades/"+name+".txt"))), common))
	}
	return l
}

// read returns an embedded file. A test checks that all files exist.
func read(name string) []byte {
	content, _ := data.ReadFile(name)
	return content
}

func readLines(name string) []string {
	return strings.Split(strings.TrimSpace(string(read(name))), "\n")
}

// person is a name.
type person struct {
	first, last string
}

func (p person) name() string { return p.first + " " + p.last }

func (l *library) person(rng *random) person { return person{pick(rng, l.first), pick(rng, l.last)} }

// exchange is a range of telephone numbers that is reserved for fiction.
type exchange struct {
	country             string // ISO 3166-1
	zone                int    // hours from UTC; there is no summer time
	place               string
	prefix, display     string // of a number in E.164 and as people write it
	size                int    // how many numbers there are
	emergency, currency string
}

func parseExchange(line string) exchange {
	words := strings.SplitN(line, " ", 5)
	e := exchange{country: words[0], place: words[2], prefix: words[3], display: words[4], size: 1000, emergency: "911", currency: "$"}
	e.zone, _ = strconv.Atoi(words[1])
	switch e.country {
	case "US":
		e.size = 100
	case "GB":
		e.emergency, e.currency = "999", "£"
	}
	return e
}

// number is a telephone number in E.164 and as people write it.
type number struct {
	e164, display string
}

func (e *exchange) number(n int) number {
	suffix := strconv.Itoa(e.size + n%e.size)[1:]
	return number{e.prefix + suffix, e.display + suffix}
}

// script is a parsed text file of data: lists of words, and topics of conversations.
//
//	key: value | value           a list; {key} in a line stands for one of its values
//	kind category outcome tone   begins a topic; "-" is none
//	a: text | text               the agent says one of these
//	c: text | text               the customer says one of these
//	?c: text | text              is left out sometimes; adjacent lines of this kind are left out together
//	=a: text | text              the text at the same position as in the line before, as an answer to it; ?=a is both
type script struct {
	lists  map[string][]string
	topics map[string][]*topic // by kind: inbound, outbound, internal, brief, message, opening ...
}

// topic is a subject of conversation.
type topic struct {
	category, outcome string // codes; empty for none
	tone              tone
	lines             []line
}

// tone is how people usually feel about a topic.
type tone int

const (
	neutral tone = iota
	good
	bad
)

// line is what one person says.
type line struct {
	agent    bool
	optional bool
	aligned  bool // the variant has the same position as in the line before
	variants []pattern
}

// pattern alternates text and placeholders: the elements at odd positions are the placeholders' names.
type pattern []string

func parsePattern(text string) pattern { return strings.Split(strings.ReplaceAll(text, "{", "}"), "}") }

func parseScript(text string) *script {
	s := &script{lists: map[string][]string{}, topics: map[string][]*topic{}}
	var current *topic
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		key, value, found := strings.Cut(row, ": ")
		switch {
		case row == "" || strings.HasPrefix(row, "#"):
		case !found:
			current = s.addTopic(strings.Fields(row))
		case current == nil:
			s.lists[key] = strings.Split(value, " | ")
		default:
			current.lines = append(current.lines, parseLine(key, value))
		}
	}
	return s
}

// addTopic adds the topic of a heading. A test checks that all headings have four words.
func (s *script) addTopic(heading []string) *topic {
	code := func(word string) string { return strings.TrimPrefix(word, "-") }
	t := &topic{
		category: code(heading[1]), outcome: code(heading[2]),
		tone: map[string]tone{"plain": neutral, "good": good, "bad": bad}[heading[3]],
	}
	s.topics[heading[0]] = append(s.topics[heading[0]], t)
	return t
}

func parseLine(key, value string) line {
	speaker, optional := strings.CutPrefix(key, "?")
	speaker, aligned := strings.CutPrefix(speaker, "=")
	l := line{agent: speaker == "a", optional: optional, aligned: aligned}
	for text := range strings.SplitSeq(value, " | ") {
		l.variants = append(l.variants, parsePattern(text))
	}
	return l
}

// trade is a kind of business: its opening hours, its departments and what people call it about.
type trade struct {
	*script
	topics   map[string][]*topic
	hours    [7]openingHours // from Monday
	from, to int             // usual prices
}

// openingHours are those of a day. On a day without any, from equals to.
type openingHours struct {
	from, to int
}

// newTrade combines a trade's own script with the topics and lists that all trades share. Lists of its own replace shared
// ones.
func newTrade(own, common *script) *trade {
	t := &trade{script: own, topics: maps.Clone(common.topics)}
	for kind, topics := range own.topics {
		// Topics of its own are twice as frequent as shared ones.
		t.topics[kind] = slices.Concat(topics, topics, common.topics[kind])
	}
	for name, values := range common.lists {
		if _, found := own.lists[name]; !found {
			own.lists[name] = values
		}
	}
	for i, hours := range strings.Fields(own.lists["hours"][0]) {
		t.hours[i].from, t.hours[i].to = parseRange(hours)
	}
	t.from, t.to = parseRange(own.lists["price"][0])
	return t
}

func parseRange(text string) (from, to int) {
	low, high, _ := strings.Cut(text, "-")
	from, _ = strconv.Atoi(low)
	to, _ = strconv.Atoi(high)
	return from, to
}

// price returns a whole amount, low ones more often than high ones.
func (t *trade) price(rng *random) int {
	span := t.to - t.from
	return t.from + min(rng.below(span), rng.below(span), rng.below(span))
}
