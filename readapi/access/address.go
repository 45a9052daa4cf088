package access

import (
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// Client is the address that a request came from: the rightmost X-Forwarded-For entry that is not a trusted proxy, and the
// peer's where no trusted proxy is the peer. Where every entry is a trusted proxy it is the farthest of them. It is the zero
// address, which no allowlist contains, where the entry that decides is not an address.
func (p Proxies) Client(peer string, header http.Header) netip.Addr {
	client := parseAddress(peer)
	hops := strings.Split(strings.Join(header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trust(client); i-- {
		if hop := strings.TrimSpace(hops[i]); hop != "" {
			client = parseAddress(hop)
		}
	}
	return client
}

func (p Proxies) trust(address netip.Addr) bool { return contains(p, address) }

func contains(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// parseAddress reads an address with or without a port: some proxies add one.
func parseAddress(text string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}
