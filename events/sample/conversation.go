package sample

import (
	"strconv"
	"strings"

	"callboard/events"
)

// conversation generates what people say. A placeholder keeps its value to the end.
type conversation struct {
	rng        *random
	trade      *trade
	sys        *system
	agent      string
	other      person
	values     map[string]string // of placeholders
	utterances []utterance
	words      int
}

// utterance is what one person says without interruption.
type utterance struct {
	text  string
	agent bool
	words int
}

// A conversation has at most maxWordsPerMinute, so that it fits into the call, and long ones have at least
// minWordsPerMinute.
const (
	maxWordsPerMinute = 190
	minWordsPerMinute = 75
)

// utterances generates the leg's conversation.
func (l *leg) utterances() []utterance {
	c := &conversation{
		rng: &l.rng, trade: l.sys.trade, sys: l.sys, agent: l.agent, other: l.other,
		values: make(map[string]string, 16), utterances: make([]utterance, 0, 24),
	}
	maxWords := int(l.duration)*maxWordsPerMinute/60 + 12
	switch l.script {
	case "inbound", "brief":
		c.add(c.topic("opening"), maxWords)
		c.fill(l.topic, "inbound", maxWords)
		c.add(c.topic("closing"), maxWords+10)
	case "outbound":
		c.add(c.topic("greeting"), maxWords)
		c.fill(l.topic, "outbound", maxWords)
		c.add(c.topic("closing"), maxWords+10)
	default:
		c.add(l.topic, maxWords)
	}
	return c.utterances
}

func (c *conversation) topic(kind string) *topic { return pick(c.rng, c.trade.topics[kind]) }

// fillerStep has no divisor in common with the number of fillers, so that every filler is used once.
const fillerStep = 7

// fill adds a topic and, in long calls, small talk and further topics.
func (c *conversation) fill(first *topic, kind string, maxWords int) {
	c.add(first, maxWords)
	minWords := maxWords * minWordsPerMinute / maxWordsPerMinute
	fillers := c.trade.topics["filler"]
	start := c.rng.below(len(fillers))
	for i := range fillers {
		if c.words > minWords {
			return
		}
		c.add(fillers[(start+i*fillerStep)%len(fillers)], maxWords)
		if i == 1 || i == 6 {
			c.changeTopic(first, kind, maxWords)
		}
	}
}

// changeTopic adds another of the trade's own topics, unless that is an urgent one.
func (c *conversation) changeTopic(first *topic, kind string, maxWords int) {
	next := pick(c.rng, c.trade.script.topics[kind])
	if next == first || next.tone == bad {
		return
	}
	for _, name := range []string{"day", "day2", "time", "time2", "date", "price", "price2", "service", "minutes", "count"} {
		delete(c.values, name)
	}
	c.add(c.topic("more"), maxWords)
	c.add(next, maxWords)
}

// add adds a topic's lines until there are more than maxWords.
func (c *conversation) add(t *topic, maxWords int) {
	variant, wasOptional, skipped := 0, false, false
	for _, l := range t.lines {
		if c.words > maxWords {
			return
		}
		if l.optional && !wasOptional {
			skipped = c.rng.chance(400)
		}
		if wasOptional = l.optional; l.optional && skipped {
			continue
		}
		if !l.aligned {
			variant = c.rng.below(len(l.variants))
		}
		text := c.expand(l.variants[variant])
		words := strings.Count(text, " ") + 1
		c.words += words
		c.utterances = append(c.utterances, utterance{text, l.agent, words})
	}
}

// expand fills the placeholders. A value at the beginning of a sentence gets a capital letter.
func (c *conversation) expand(p pattern) string {
	if len(p) == 1 {
		return p[0]
	}
	var b strings.Builder
	b.Grow(160)
	for i, piece := range p {
		if i%2 == 0 {
			b.WriteString(piece)
			continue
		}
		value := c.value(piece)
		if first := value[0]; 'a' <= first && first <= 'z' && beginsSentence(p[i-1], i == 1) {
			b.WriteByte(first - 'a' + 'A')
			value = value[1:]
		}
		b.WriteString(value)
	}
	return b.String()
}

// beginsSentence reports whether a sentence begins after the given text; first is true if the text begins the utterance.
func beginsSentence(before string, first bool) bool {
	before = strings.TrimSuffix(before, " ")
	if before == "" {
		return first
	}
	return strings.IndexByte(".?!", before[len(before)-1]) >= 0
}

// value returns the value of a placeholder such as day. day2 is a second value from the same list.
func (c *conversation) value(name string) string {
	value, ok := c.values[name]
	if !ok {
		value = c.newValue(name)
		c.values[name] = value
	}
	return value
}

func (c *conversation) newValue(name string) string {
	switch name {
	case "business":
		return c.sys.name
	case "agent":
		return c.agent
	case "caller":
		return c.other.name()
	case "first":
		return c.other.first
	case "first2":
		return pick(c.rng, c.sys.library.first)
	case "last", "last2":
		return pick(c.rng, c.sys.library.last)
	case "number":
		return c.sys.exchange.number(c.rng.below(1000)).display
	case "price", "price2":
		return c.sys.exchange.currency + strconv.Itoa(c.trade.price(c.rng))
	default:
		return pick(c.rng, c.trade.lists[strings.TrimSuffix(name, "2")])
	}
}

// transcriptStatus publishes the transcript with a status.
func transcriptStatus(status string) action {
	return func(l *leg, at events.Time) events.Event {
		l.transcript.Status = status
		return publishNext(&l.transcript, &l.transcript.Version, at)
	}
}

// removeTranscript deletes the transcript or marks it as removed.
func (l *leg) removeTranscript(at events.Time) events.Event {
	if l.rng.chance(300) {
		return publishDeleted(&l.transcript, &l.transcript.Version, at)
	}
	return transcriptStatus(events.TranscriptRemoved)(l, at)
}

// speakerKind is how a transcript attributes what is said.
type speakerKind int

const (
	byRole speakerKind = iota
	byNumber
	unattributed
	textOnly  // no turns
	emptyText // nothing was understood
)

// storeTranscript publishes the text. The leg does not store it, because it is long.
func (l *leg) storeTranscript(at events.Time) events.Event {
	kind := speakerKind(l.rng.weighted(800, 70, 60, 60, 10))
	if l.script == "internal" && kind == byRole {
		kind = byNumber // two colleagues are neither agent nor customer
	}
	l.transcript.Version++
	state := l.transcript
	state.Status, state.Text = events.TranscriptCompleted, events.Some("")
	if kind != emptyText {
		said := l.utterances()
		var texts []string
		for _, u := range said {
			texts = append(texts, u.text)
		}
		state.Text = events.Some(strings.Join(texts, "\n"))
		if kind != textOnly {
			state.Turns = l.turns(said, kind)
		}
	}
	return envelope(events.Changed(&state), at)
}

// turns distributes what is said over the call: at a natural speed, or at a higher one if the call is too short for it.
func (l *leg) turns(said []utterance, kind speakerKind) []events.Turn {
	const pause, perWord = 60, 38 // hundredths of a second
	natural := 0
	for _, u := range said {
		natural += pause + u.words*perWord
	}
	length := int(l.duration) * 100
	// A call that is long for its words has longer pauses.
	extra := min(max(length-natural, 0)/len(said), 250)
	natural += extra * len(said)
	scaled := func(at int) events.Null[float64] {
		return events.Some(float64(at*min(length, natural)/natural) / 100)
	}
	timed, rated := !l.rng.chance(40), !l.rng.chance(150)
	turns := make([]events.Turn, len(said))
	at := 0
	for i, u := range said {
		turns[i] = events.Turn{Text: u.text, Speaker: u.speaker(kind)}
		begin := at + (pause+extra)/2
		at += pause + extra + u.words*perWord
		if timed {
			turns[i].StartSeconds, turns[i].EndSeconds = scaled(begin), scaled(at-(pause+extra)/2)
		}
		if rated {
			turns[i].Confidence = l.rng.hundredths(71, 99)
		}
	}
	return turns
}

func (u utterance) speaker(kind speakerKind) events.Speaker {
	role, ordinal := "customer", int64(2)
	if u.agent {
		role, ordinal = "agent", 1
	}
	switch kind {
	case byRole:
		return events.Speaker{Kind: "role", Role: role}
	case byNumber:
		return events.Speaker{Kind: "numbered", Ordinal: events.Some(ordinal)}
	default:
		return events.Speaker{Kind: "unattributed"}
	}
}
