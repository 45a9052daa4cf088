package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For headers are trusted.
type Proxies []netip.Prefix

// Client returns the address that a request came from. If the peer is no trusted proxy, this is the peer. Otherwise it
// is the rightmost X-Forwarded-For entry that is no trusted proxy, or the leftmost entry if all of them are. If the
// deciding entry is not an address, Client returns the zero address, which no allowlist contains.
func (p Proxies) Client(peer string, header http.Header) netip.Addr {
	client := parseAddress(peer)
	hops := strings.Split(strings.Join(header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && contains(p, client); i-- {
		if hop := strings.TrimSpace(hops[i]); hop != "" {
			client = parseAddress(hop)
		}
	}
	return client
}

func contains(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}

// parseAddress parses an address with or without a port, because some proxies add one.
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

// ParseNetwork parses an address or a CIDR. It refuses a CIDR whose address has bits set after its prefix, because that
// is more often a mistake than a shorthand.
func ParseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}

	// A network of IPv4 addresses in IPv6 form contains no client, because the addresses of clients are unmapped.
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a CIDR: write it like 192.0.2.7 or 192.0.2.0/24",
			text)
	}

	if network != network.Masked() {
		return netip.Prefix{}, fmt.Errorf("%q has bits set after its prefix: write %s", text, network.Masked())
	}
	return network, nil
}
