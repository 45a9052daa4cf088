package setting

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"callboard/readapi/access"
)

// Address is what a program listens on.
type Address = Value[string, address]

type address struct{}

// Parse implements [Kind].
func (address) Parse(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("is not an address to listen on: write host:port, or :port for all interfaces, with port 0 for any free one")
	}
	return text, nil
}

// Networks are addresses and CIDRs, separated by commas.
type Networks = Value[[]netip.Prefix, networks]

type networks struct{}

// Parse implements [Kind].
func (networks) Parse(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		network, err := access.ParseNetwork(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("holds what is no network: %w", err)
		}
		list = append(list, network)
	}
	return list, nil
}
