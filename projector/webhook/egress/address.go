package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// parseAddress returns the IP address that a host is, and whether it is one. Resolvers read IPv4 addresses in the forms of inet_aton:
// 127.1, 0x7f000001, 2130706433 and 0177.0.0.1 are all 127.0.0.1. As in browsers, a host whose last label is a number is never a name.
func parseAddress(host string) (address netip.Addr, numeric bool, err error) {
	labels := strings.Split(host, ".")
	switch {
	case strings.Contains(host, ":"):
		address, err = netip.ParseAddr(host)
		if err != nil || address.Zone() != "" {
			return netip.Addr{}, true, fmt.Errorf("the host %q is not an IPv6 address: correct it", host)
		}
		return address.Unmap(), true, nil
	case !isNumber(labels[len(labels)-1]):
		return netip.Addr{}, false, nil
	}
	address, ok := parseIPv4(labels)
	if !ok {
		return netip.Addr{}, true, fmt.Errorf("the host %q is neither a name nor an IPv4 address: correct it", host)
	}
	return address, true, nil
}

// parseIPv4 reads up to four numbers. The last one fills the bytes that the others leave.
func parseIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	last := len(labels) - 1
	for n, label := range labels {
		value, err := parseNumber(label)
		if err != nil || n < last && value > 0xff || n == last && value >= 1<<(8*(4-last)) {
			return netip.Addr{}, false
		}
		if n < last {
			value <<= 8 * (3 - n)
		}
		sum |= value
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// isNumber says whether a label is meant as a number, even if it is none: 08 has no octal digit.
func isNumber(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// parseNumber reads decimal, octal (0…) and hexadecimal (0x…) numbers.
func parseNumber(label string) (uint64, error) {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strconv.ParseUint("0"+digits, 16, 64)
	}
	if len(label) > 1 && label[0] == '0' {
		return strconv.ParseUint(label, 8, 64)
	}
	return strconv.ParseUint(label, 10, 64)
}
