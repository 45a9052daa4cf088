package access

import (
	"errors"
	"net/netip"
	"sync"
	"time"
)

// ErrThrottled is returned for a key that may be unknown, from a network that has sent too many unknown ones.
var ErrThrottled = errors.New("too many unknown keys from the client's network")

const (
	unknownBurst  = 100       // unknown keys that a network can send at once
	unknownRate   = 50        // and per second
	validTime     = time.Hour // how long a key that was valid is never throttled
	networkBits   = 32        // of an IPv4 address
	networkBitsV6 = 64
)

// unknownKeys throttles the lookups of unknown keys of each network. Anybody can make a well-formed key, so their
// lookups are not bounded by a budget. Only lookups that find nothing count, and keys that were valid within the hour
// are always looked up. What is remembered of a key allows nothing but its lookup.
type unknownKeys struct {
	mu       sync.Mutex
	networks recent[netip.Prefix, unknownBucket]
	valid    recent[string, time.Time] // when the key was last valid, by its short part
}

// unknownBucket is how many lookups a network had left at a time.
type unknownBucket struct {
	left float64
	at   time.Time
}

func newUnknownKeys() *unknownKeys {
	return &unknownKeys{
		networks: newRecent[netip.Prefix, unknownBucket](maxRemembered), valid: newRecent[string, time.Time](maxRemembered),
	}
}

// throttled reports whether a key must not be looked up.
func (u *unknownKeys) throttled(short string, client netip.Addr, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()

	// A client whose key was valid is not locked out by other clients of its network.
	if last, known := u.valid.get(short); known && now.Sub(last) < validTime {
		return false
	}
	return u.left(NetworkOf(client), now) < 1
}

// noteUnknown counts a lookup that found nothing.
func (u *unknownKeys) noteUnknown(client netip.Addr, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	network := NetworkOf(client)
	u.networks.put(network, unknownBucket{max(0, u.left(network, now)-1), now})
}

// noteValid remembers that a key is valid.
func (u *unknownKeys) noteValid(short string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.valid.put(short, now)
}

func (u *unknownKeys) left(network netip.Prefix, now time.Time) float64 {
	b, found := u.networks.get(network)
	if !found {
		return unknownBurst
	}
	return min(unknownBurst, b.left+unknownRate*now.Sub(b.at).Seconds())
}

// NetworkOf returns the network that one client can have. Unknown addresses are one network.
func NetworkOf(client netip.Addr) netip.Prefix {
	bits := networkBits
	if client.Is6() {
		bits = networkBitsV6
	}
	network, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // the zero address
	}
	return network
}
