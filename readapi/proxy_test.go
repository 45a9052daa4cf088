package readapi

import (
	"net/netip"
	"testing"

	"callboard/readapi/access"
)

// A request of a client behind a proxy is judged by the address that the proxy names.
func TestTrustedProxy(t *testing.T) {
	r := newReader(t, func(c *Config) { c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("192.0.2.0/24")) })
	system := r.system("one")
	key := r.key(system, func(q *access.Request) { q.Networks = append(q.Networks, netip.MustParsePrefix("203.0.113.0/24")) })
	for forwarded, want := range map[string]int{"203.0.113.9": 200, "203.0.113.9, 198.51.100.1": 403, "": 403} {
		if w := r.get("/customer/phone-systems", withKey(key), with("X-Forwarded-For", forwarded)); w.Code != want {
			t.Errorf("%q: %d, want %d", forwarded, w.Code, want)
		}
	}
}
