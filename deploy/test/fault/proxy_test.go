package fault_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy forwards connections to a server, and disturbs them with toxics.
type proxy struct {
	tb    testing.TB
	proxy *toxiproxy.Proxy
}

func newProxy(tb testing.TB, name, upstream string) *proxy {
	tb.Helper()
	// A proxy logs and counts through a server, which needn't run.
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{tb: tb, proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)}
	if err := p.proxy.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.proxy.Stop)
	return p
}

func (p *proxy) name() string { return p.proxy.Name }

func (p *proxy) address() string { return p.proxy.Listen }

// The directions of a connection: from the program to the server, and back.
const (
	upstream   = "upstream"
	downstream = "downstream"
)

// addToxic adds a toxic of toxiproxy to one direction, until remove is called.
func (p *proxy) addToxic(direction, kind, attributes string) (remove func()) {
	p.tb.Helper()
	name := kind + " " + direction
	_, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": %q, "type": %q, "stream": %q, "toxicity": 1, "attributes": {%s}}`, name, kind, direction, attributes)))
	if err != nil {
		p.tb.Fatalf("%s: add %s: %v", p.name(), name, err)
	}
	return func() {
		p.tb.Helper()
		if err := p.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
			p.tb.Fatalf("%s: remove %s: %v", p.name(), name, err)
		}
	}
}

// addToxics adds a toxic to both directions.
func (p *proxy) addToxics(kind, attributes string) (remove func()) {
	p.tb.Helper()
	removeUp, removeDown := p.addToxic(upstream, kind, attributes), p.addToxic(downstream, kind, attributes)
	return func() {
		p.tb.Helper()
		removeUp()
		removeDown()
	}
}
