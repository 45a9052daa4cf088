package access

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestProxies_Client(t *testing.T) {
	t.Parallel()
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a peer", "192.0.2.1:1", nil, "192.0.2.1"},
		{"a peer with a forged header", "192.0.2.1:1", []string{"198.51.100.1"}, "192.0.2.1"},
		{"a proxy without the header", "10.0.0.1:1", nil, "10.0.0.1"},
		{"a proxy", "10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy over IPv6", "[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"a proxy as a mapped address", "[::ffff:10.0.0.1]:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a client as a mapped address", "10.0.0.1:1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"a client with a forged entry", "10.0.0.1:1", []string{"203.0.113.1, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:1", []string{"203.0.113.1 , 198.51.100.1,10.0.0.2"}, "198.51.100.1"},
		{"two headers", "10.0.0.1:1", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"only proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"empty entries", "10.0.0.1:1", []string{"198.51.100.1,,"}, "198.51.100.1"},
		{"with ports", "10.0.0.1:1", []string{"198.51.100.1:443, [fd00::2]:80"}, "198.51.100.1"},
		{"a zone", "10.0.0.1:1", []string{"fe80::1%eth0"}, "fe80::1"},
		{"the deciding entry is no address", "10.0.0.1:1", []string{"198.51.100.1, unknown"}, "invalid IP"},
		{"another entry is no address", "10.0.0.1:1", []string{"unknown, 198.51.100.1"}, "198.51.100.1"},
		{"no address", "@", nil, "invalid IP"},
	} {
		header := http.Header{"X-Forwarded-For": c.forwarded}
		if got := proxies.Client(c.peer, header).String(); got != c.want {
			t.Errorf("%s: client = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.0/24":         "192.0.2.0/24",
		"192.0.2.7":            "192.0.2.7/32",
		"2001:db8::/32":        "2001:db8::/32",
		"2001:db8::1":          "2001:db8::1/128",
		"::ffff:192.0.2.7":     "192.0.2.7/32",
		"0.0.0.0/0":            "0.0.0.0/0",
		"192.0.2.7/24":         "",
		"192.0.2.0/33":         "",
		"::ffff:192.0.2.0/120": "",
		"fe80::1%eth0":         "",
		"example.com":          "",
		"":                     "",
	} {
		got, err := ParseNetwork(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: network = %v, error = %v, want %q", text, got, err, want)
		}
	}
}
