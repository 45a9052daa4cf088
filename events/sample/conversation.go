package sample

import "strings"

// conversation puts words into people's mouths. A slot keeps its value to the end: who is called Rosie stays Rosie.
type conversation struct {
	dice  *dice
	trade *trade
	sys   *system
	agent string
	other person
	slots map[string]string
	turns []spoken
	words int
}

// spoken is one turn.
type spoken struct {
	text  string
	agent bool
	words int
}

// wordsPerMinute is quick talk; what doesn't fit a call's length at this pace is left out. A call may have fewer words, but not
// so few that it seems empty.
const (
	wordsPerMinute  = 190
	fewestPerMinute = 75
)

// converse is what a call of so many seconds about a topic sounds like.
func (l *leg) converse() []spoken {
	c := &conversation{
		dice: &l.dice, trade: l.sys.trade, sys: l.sys, agent: l.agent, other: l.other,
		slots: make(map[string]string, 16), turns: make([]spoken, 0, 24),
	}
	budget := int(l.talk)*wordsPerMinute/60 + 12
	switch l.script {
	case "inbound", "brief":
		c.say(c.one("opening"), budget)
		c.discuss(l.topic, "inbound", budget)
		c.say(c.one("closing"), budget+10)
	case "outbound":
		c.say(c.one("greeting"), budget)
		c.discuss(l.topic, "outbound", budget)
		c.say(c.one("closing"), budget+10)
	default:
		c.say(l.topic, budget)
	}
	return c.turns
}

// discuss fills a long call with what is said while somebody looks something up and, if it is very long, with one more topic.
func (c *conversation) discuss(first *topic, kind string, budget int) {
	c.say(first, budget)
	enough := budget * fewestPerMinute / wordsPerMinute
	fillers := c.trade.topics["filler"]
	start := c.dice.below(len(fillers))
	for i := range fillers {
		if c.words > enough {
			return
		}
		// A step that has no divisor in common with any likely count visits every filler once.
		c.say(fillers[(start+i*fillerStep)%len(fillers)], budget)
		if i == 1 || i == 6 {
			c.change(first, kind, budget)
		}
	}
}

const fillerStep = 7

// change turns to another of the trade's own topics, one that nobody would have kept for the end.
func (c *conversation) change(first *topic, kind string, budget int) {
	next := pick(c.dice, c.trade.script.topics[kind])
	if next == first || next.mood == bad {
		return
	}
	for _, name := range []string{"day", "day2", "time", "time2", "date", "price", "price2", "service", "minutes", "count"} {
		delete(c.slots, name)
	}
	c.say(c.one("more"), budget)
	c.say(next, budget)
}

func (c *conversation) one(kind string) *topic { return pick(c.dice, c.trade.topics[kind]) }

func (c *conversation) say(t *topic, budget int) {
	choice, left, skipped := 0, false, false
	for _, b := range t.beats {
		if c.words > budget {
			return
		}
		if b.optional && !left {
			skipped = c.dice.chance(400)
		}
		if left = b.optional; b.optional && skipped {
			continue
		}
		if !b.aligned {
			choice = c.dice.below(len(b.wordings))
		}
		text := c.expand(b.wordings[choice])
		words := strings.Count(text, " ") + 1
		c.words += words
		c.turns = append(c.turns, spoken{text, b.agent, words})
	}
}

func (c *conversation) expand(w wording) string {
	if len(w) == 1 {
		return w[0]
	}
	var b strings.Builder
	b.Grow(160)
	for i, piece := range w {
		if i%2 == 0 {
			b.WriteString(piece)
			continue
		}
		value := c.slot(piece)
		if first := value[0]; 'a' <= first && first <= 'z' && beginsSentence(w[i-1], i == 1) {
			b.WriteByte(first - 'a' + 'A')
			value = value[1:]
		}
		b.WriteString(value)
	}
	return b.String()
}

// beginsSentence tells whether what follows the text before it should have a capital.
func beginsSentence(before string, first bool) bool {
	before = strings.TrimSuffix(before, " ")
	if before == "" {
		return first
	}
	return strings.IndexByte(".?!", before[len(before)-1]) >= 0
}

// slot is the value of a slot such as day; day2 is another one from the same list.
func (c *conversation) slot(name string) string {
	if value, ok := c.slots[name]; ok {
		return value
	}
	value := c.value(name)
	c.slots[name] = value
	return value
}

func (c *conversation) value(name string) string {
	switch list := strings.TrimSuffix(name, "2"); name {
	case "business":
		return c.sys.name
	case "agent":
		return c.agent
	case "caller":
		return c.other.name()
	case "first":
		return c.other.first
	case "first2":
		return pick(c.dice, c.sys.library.first)
	case "last", "last2":
		return pick(c.dice, c.sys.library.last)
	case "number":
		return c.sys.exchange.number(c.dice.below(1000)).display
	case "price", "price2":
		return c.sys.exchange.money(c.trade.price(c.dice))
	default:
		return pick(c.dice, c.trade.lists[list])
	}
}
