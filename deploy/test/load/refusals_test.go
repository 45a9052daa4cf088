//go:build linux

package load_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"callboard/events/sample"
	"callboard/readapi/access"
)

// A load test reads a small company.
func smallCompany() *sample.Company {
	return sample.New(sample.Config{Seed: 1, Systems: 8, Calls: 6000})
}

// unlimited is an allowance that no load test uses up.
const unlimited = "100000000"

// No key that stays below its budgets is refused, however busy the machine is: two readers, 64 connections, 400
// keys, and four processes that use all processors. Every key makes at most 110 requests for reports and 450 for
// lists.
func TestLoad_NoFalseRefusal(t *testing.T) {
	needLoad(t)
	const connections, keys, reports, lists = 64, 400, 110, 450
	i := newInstallation(t, smallCompany(), nil)
	readers := []*reader{i.startReader("readapi-1", nil), i.startReader("readapi-2", nil)}
	windows := i.windows(keys / 8)
	issued := i.keysOf(access.TierPremium, windows)
	for n := range 4 {
		busy := startProcess(t, fmt.Sprintf("busy-%d", n), "/bin/sh", nil, "-c", "while :; do :; done")
		defer busy.KillIfRunning()
	}
	client := newClient(connections)
	defer client.CloseIdleConnections()
	answers := newResults("pages")
	var next atomic.Int64
	deadline := time.Now().Add(*periodFlag)
	inParallel(connections, func(int) {
		for time.Now().Before(deadline) {
			n := int(next.Add(1) - 1)
			key, round := n%len(issued), n/len(issued)
			if round >= reports+lists {
				return
			}
			path := windows[key].list()
			if round*reports/(reports+lists) != (round+1)*reports/(reports+lists) { // spread evenly over the rounds
				path = windows[key].report()
			}
			answers.get(client, readers[n%len(readers)].url+path, issued[key])
		}
	})
	t.Log(answers)
	if n := answers.count(http.StatusTooManyRequests); n != 0 {
		t.Errorf("answers with 429 = %d of %d, want 0: every key was below its budgets", n, answers.total())
	}
	if answers.count(http.StatusOK) == 0 {
		t.Error("answers with 200 = 0, want some")
	}
}
