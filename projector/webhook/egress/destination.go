package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

const (
	maxURLBytes  = 2048
	maxNameBytes = 253
	httpsPort    = 443
)

// CheckURL returns the canonical form of an endpoint's URL: an international host name in ASCII, an address in its
// usual form, no port 443. The error says what is wrong and what to do. It holds nothing of the URL but the host and
// the port.
func (c *Client) CheckURL(raw string) (string, error) {
	u, err := parseURL(raw)
	if err != nil {
		return "", err
	}

	port, err := parsePort(u)
	if err != nil {
		return "", err
	}
	host, err := c.checkHost(u.Hostname(), port)
	if err != nil {
		return "", err
	}

	// The canonical form.
	if u.Host = host; port != httpsPort {
		u.Host += ":" + strconv.Itoa(int(port))
	}
	if u.Path == "" {
		u.Path = "/"
	}

	canonical := u.String()
	if len(canonical) > maxURLBytes {
		return "", errTooLong()
	}
	return canonical, nil
}

// parseURL checks everything but host and port. The errors of [url.Parse] hold the URL, so they are not passed on.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > maxURLBytes {
		return nil, errTooLong()
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("the URL has a blank or a control character: percent-encode it")
	}

	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return nil, errors.New("the URL is not valid: write it as https://host/path")
	case u.Scheme != "https":
		return nil, errors.New("the URL does not begin with https://: use an address with TLS")

	case u.User != nil:
		return nil, errors.New("the URL has a user name or a password: remove it, requests are signed instead")
	case strings.Contains(raw, "#"):
		// url.Parse accepts an empty fragment and drops it, so the text itself is searched.
		return nil, errors.New("the URL has a fragment: remove the # and what follows it")

	case u.Hostname() == "":
		return nil, errors.New("the URL has no host: write it as https://host/path")
	case strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r > '~' }):
		return nil, errors.New("the URL's query has characters that are not ASCII: percent-encode them")
	}

	return u, nil
}

func errTooLong() error {
	return fmt.Errorf("the URL has more than %d bytes: use a shorter one", maxURLBytes)
}

func parsePort(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return httpsPort, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("port %s does not exist: use one from 1 to 65535", u.Port())
	}
	return uint16(port), nil
}

// checkHost returns the host as a URL has it. An address is decided here; what a name resolves to is decided at every
// dial.
func (c *Client) checkHost(host string, port uint16) (string, error) {
	name, err := asciiName(host)
	if err != nil {
		return "", err
	}

	address, numeric, err := parseAddress(name)
	if err != nil {
		return "", err
	}

	// A name's address is checked at every dial, so the port alone is checked here.
	if !numeric {
		return name, c.guard.checkPortOfName(port)
	}

	if err := c.guard.check(address, port); err != nil {
		return "", err
	}

	if address.Is6() {
		return "[" + address.String() + "]", nil
	}
	return address.String(), nil
}

// parseAddress returns the IP address that a host is, and whether it is one. As in browsers, a host whose last label is
// a number is never a name. Resolvers read further forms of addresses, which are refused: 127.1, 0x7f000001, 2130706433
// and 0177.0.0.1 are all 127.0.0.1.
func parseAddress(host string) (address netip.Addr, numeric bool, err error) {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	number := strings.Trim(digits, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
	if !number && !strings.Contains(host, ":") {
		return netip.Addr{}, false, nil
	}

	address, err = netip.ParseAddr(host)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, true, fmt.Errorf(
			"the host %q is neither a name nor an address: write an address as 192.0.2.1 or [2001:db8::1]", host)
	}
	return address.Unmap(), true, nil
}

// asciiName returns a host name in lower-case ASCII, without the dot at its end. It leaves an IPv6 address as it is.
func asciiName(host string) (string, error) {
	if strings.Contains(host, ":") {
		return host, nil
	}
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.StrictDomainName(false))
	name, err := profile.ToASCII(host)
	if name = strings.TrimSuffix(name, "."); err != nil || !validName(name) {
		return "", fmt.Errorf("the host %q is not a valid name: correct it", host)
	}
	return name, nil
}

// validName says whether DNS could have the name. Underscores are in use, though not in host names by the standard.
func validName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(name) <= maxNameBytes
}

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

// control is a [net.Dialer]'s Control: it is asked about every address, after name resolution and before the connection
// is made.
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

// checkPortOfName checks the port of a host that is a name. Any port may be allowed where the name resolves to: then
// the dial decides.
func (g *guard) checkPortOfName(port uint16) error {
	if len(g.networks) > 0 {
		return nil
	}
	return g.checkPort(port)
}
