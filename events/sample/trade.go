package sample

import (
	"strconv"
	"strings"
)

// trade is a kind of business: its opening hours, its departments and what people call it about.
type trade struct {
	*script
	topics   map[string][]*topic
	hours    [7]opening // from Monday
	from, to int        // usual prices
}

// opening is a day's opening hours; a day without any has from equal to to.
type opening struct {
	from, to int
}

// newTrade is the trade that its own script describes. What every business talks about comes from common, and its lists
// too where the trade has none of that name.
func newTrade(own, common *script) *trade {
	t := &trade{script: own, topics: map[string][]*topic{}}
	for kind, topics := range common.topics {
		t.topics[kind] = topics
	}
	for kind, topics := range own.topics {
		// The trade's own business is talked about twice as often as what is common to all.
		t.topics[kind] = append(append(append([]*topic{}, topics...), topics...), t.topics[kind]...)
	}
	for name, values := range common.lists {
		if _, has := own.lists[name]; !has {
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

// price draws a whole amount, low ones more often than high ones.
func (t *trade) price(d *dice) int {
	span := t.to - t.from
	return t.from + min(d.below(span), d.below(span), d.below(span))
}
