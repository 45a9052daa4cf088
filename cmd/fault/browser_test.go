package fault_test

import (
	"context"
	"regexp"
	"strings"
	"time"
)

// browser is a client that turns the pages of one reader's lists by their links.
type browser struct {
	*visitor
	reader *reader
	path   string // of the next page; empty: a list is at its end
	turn   int
}

// crowdEvery is how long each client waits from one question to the next, so that no budget is used up.
const crowdEvery = 15 * time.Millisecond

func newBrowser(c *clients, r *reader) *browser { return &browser{visitor: newVisitor(c), reader: r} }

func (b *browser) run(ctx context.Context) {
	b.every(ctx, crowdEvery, func() {
		systems := b.stage.feed.systems()
		system := systems[b.turn%len(systems)]
		if b.path == "" {
			b.turn++
			system = systems[b.turn%len(systems)]
			b.path = "/" + system.String() + "/" + []string{"call-logs", "voicemails"}[b.turn/len(systems)%2] + "?pageSize=20"
		}
		got, ok := b.ask(ctx, b.reader, b.path, b.stage.keyring.systems[system], "")
		if b.path = ""; ok {
			b.path = next(got.header.Get("Link"))
		}
	})
}

var nextLink = regexp.MustCompile(`<([^>]*)>; *rel="next"`)

// next is the path of the next page, without what all paths begin with; empty where there is none.
func next(link string) string {
	match := nextLink.FindStringSubmatch(link)
	if match == nil {
		return ""
	}
	return strings.TrimPrefix(match[1], baseURL+"/customer/phone-systems")
}
