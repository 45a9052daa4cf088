package egress

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxURLBytes  = 2048
	maxNameBytes = 253
	httpsPort    = 443
)

// CheckURL returns the canonical form of an endpoint's URL: an international host name in ASCII, an address in its usual form, no port
// 443. The error says what is wrong and what to do. It holds nothing of the URL but the host and the port.
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

// checkHost returns the host as a URL has it. An address is decided here; what a name resolves to is decided at every dial.
func (c *Client) checkHost(host string, port uint16) (string, error) {
	name, err := asciiName(host)
	if err != nil {
		return "", err
	}
	address, numeric, err := parseAddress(name)
	if err != nil {
		return "", err
	}
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
