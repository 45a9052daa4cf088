package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// destinationError says why a destination is refused, and how an operator allows it. Nothing was sent to it.
type destinationError struct{ reason string }

func (e *destinationError) Error() string { return e.reason }

// guard decides which destinations are allowed.
type guard struct {
	special  *ssrf.Guardian // refuses every special-purpose address, whatever the port
	networks []netip.Prefix
	ports    []uint16
}

func newGuard(networks []netip.Prefix, ports []uint16) *guard {
	if len(ports) == 0 {
		ports = []uint16{443, 8443}
	}
	return &guard{special: ssrf.New(ssrf.WithAnyPort()), networks: networks, ports: ports}
}

// control is a [net.Dialer]'s Control: it is asked about every address, after name resolution and before the connection is made.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	destination, err := netip.ParseAddrPort(address)
	if err != nil {
		return &destinationError{fmt.Sprintf("destination %q is not an IP address and a port", address)}
	}
	return g.check(destination.Addr(), destination.Port())
}

func (g *guard) check(address netip.Addr, port uint16) error {
	address = address.Unmap()
	if slices.ContainsFunc(g.networks, func(n netip.Prefix) bool { return n.Contains(address) }) {
		return nil
	}
	if err := g.special.SafeAddr(address); err != nil {
		return &destinationError{fmt.Sprintf(
			"destination %s is not a public address: allow its network with CALLBOARD_WEBHOOK_ALLOW_NETWORKS", address)}
	}
	return g.checkPort(port)
}

func (g *guard) checkPort(port uint16) error {
	if slices.Contains(g.ports, port) {
		return nil
	}
	allowed := make([]string, len(g.ports))
	for n, p := range g.ports {
		allowed[n] = strconv.Itoa(int(p))
	}
	return &destinationError{fmt.Sprintf("port %d is not allowed: use one of %s, or allow it with CALLBOARD_WEBHOOK_PORTS",
		port, strings.Join(allowed, ", "))}
}

// checkPortOfName checks the port of a host that is a name. Any port may be allowed where the name resolves to: then the dial decides.
func (g *guard) checkPortOfName(port uint16) error {
	if len(g.networks) > 0 {
		return nil
	}
	return g.checkPort(port)
}
