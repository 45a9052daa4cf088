package eventstest

import "testing"

func TestFreePort_ReturnsEachPortOnce(t *testing.T) {
	seen := map[int]bool{}
	for range portsPerBlock + portsPerBlock/2 {
		port := FreePort(t)
		if seen[port] {
			t.Errorf("port %d was returned twice", port)
		}
		seen[port] = true
	}
}
