package fault_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// line is what lies between a kind of program and a server.
type line struct {
	tb    testing.TB
	proxy *toxiproxy.Proxy
}

func newLine(tb testing.TB, name, to string) *line {
	tb.Helper()
	// A proxy logs and counts by way of a server, which needn't run.
	owner := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &line{tb: tb, proxy: toxiproxy.NewProxy(owner, name, "127.0.0.1:0", to)}
	if err := l.proxy.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(l.proxy.Stop)
	return l
}

func (l *line) name() string { return l.proxy.Name }

func (l *line) address() string { return l.proxy.Listen }

// The ways of a line: what the server says goes down to the program.
const (
	up   = "upstream"
	down = "downstream"
)

// afflict lets something be wrong with a way, as toxiproxy names it, until relieve is called.
func (l *line) afflict(way, kind, attributes string) (relieve func()) {
	l.tb.Helper()
	name := kind + " " + way
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": %q, "type": %q, "stream": %q, "toxicity": 1, "attributes": {%s}}`, name, kind, way, attributes)))
	if err != nil {
		l.tb.Fatalf("%s: %s: %v", l.name(), name, err)
	}
	return func() {
		l.tb.Helper()
		if err := l.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
			l.tb.Fatalf("%s: %s: %v", l.name(), name, err)
		}
	}
}

// afflictBoth is for both ways.
func (l *line) afflictBoth(kind, attributes string) (relieve func()) {
	l.tb.Helper()
	first, second := l.afflict(up, kind, attributes), l.afflict(down, kind, attributes)
	return func() {
		l.tb.Helper()
		first()
		second()
	}
}
