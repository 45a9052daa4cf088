//go:build linux

package load_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/sample"
	"callboard/readapi/access"
)

// pageRates measures report pages of targets in turn, round after round, and prints the medians beside that of the first target.
func (i *installation) pageRates(targets []target, windows []window, keys [][]string, beside func(n int) (stop func())) {
	i.Helper()
	rates, cpu := make([][]float64, len(targets)), make([]map[string][]float64, len(targets))
	for range *roundsFlag {
		for n, g := range targets {
			requests := g.requests(i, windows, keys[n])
			i.measure(g, requests, 8, time.Second)
			stop := beside(n)
			m := i.measure(g, requests, 8, *durationFlag)
			stop()
			rates[n] = append(rates[n], m.rate())
			if cpu[n] == nil {
				cpu[n] = make(map[string][]float64)
			}
			for server, used := range m.cpu {
				cpu[n][server] = append(cpu[n][server], used.Seconds()/m.elapsed.Seconds()*1000)
			}
		}
	}
	var b strings.Builder
	for n, g := range targets {
		fmt.Fprintf(&b, "%24s  %6.0f pages/s  %.3f  ms of processor time a second:", g.name, median(rates[n]), median(rates[n])/median(rates[0]))
		for _, server := range slices.Sorted(maps.Keys(cpu[n])) {
			fmt.Fprintf(&b, "  %s %.0f", server, median(cpu[n][server]))
		}
		b.WriteByte('\n')
	}
	i.Logf("8 connections, medians of %d rounds of %s\n%s", *roundsFlag, *durationFlag, &b)
}

// The rate of report pages with different allowances of the premium tier, beside that of the standard tier. It should not depend on them.
func TestLoad_Allowances(t *testing.T) {
	needLoad(t)
	needWrk(t)
	i := newInstallation(t, smallCompany(), nil)
	windows := i.windows(256)
	r := i.startReader("standard", nil)
	targets := []target{{"standard", r.process, r.url, window.report}}
	keys, premium := [][]string{i.keysOf(access.TierStandard, windows)}, i.keysOf(access.TierPremium, windows)
	for _, allowance := range []string{"600", "601", "12000", "120000"} {
		name := "premium-" + allowance
		r := i.startReader(name, map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": allowance})
		targets, keys = append(targets, target{name, r.process, r.url, window.report}), append(keys, premium)
	}
	i.pageRates(targets, windows, keys, func(int) (stop func()) { return func() {} })
}

// The rate of report pages of a phone system, some of whose extensions are renamed 10 and 100 times a second.
func TestLoad_Renames(t *testing.T) {
	needLoad(t)
	needWrk(t)
	i := newInstallation(t, sample.New(sample.Config{Seed: 1, Systems: 1, Calls: 6000}), nil)
	windows := i.windows(2048)
	keys := i.keysOf(access.TierStandard, windows)
	r := i.startReader("readapi", nil)
	renames := []int{0, 10, 100}
	var targets []target
	for _, n := range renames {
		targets = append(targets, target{fmt.Sprintf("%d renames/s", n), r.process, r.url, window.report})
	}
	extensions, version := i.extensions(i.system(0)), int64(1_000_000) // above those of the company's events
	i.pageRates(targets, windows, [][]string{keys, keys, keys}, func(n int) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			// One goroutine has the versions in order.
			paced(ctx, renames[n], 1, time.Hour, func(k int) {
				version++
				x := extensions[k%len(extensions)]
				x.Version, x.Name = version, fmt.Sprintf("Renamed %d", version)
				if err := i.publisher.Publish(t.Context(), events.Changed(&x)); err != nil {
					t.Error(err)
				}
			})
		}()
		return func() {
			cancel()
			<-done
		}
	})
	t.Logf("renames published: %d", version-1_000_000)
}

// extensions returns the phone system's extensions.
func (i *installation) extensions(system uuid.UUID) (list []events.Extension) {
	i.Helper()
	for e := range i.company.Directory() {
		if x, ok := e.State.(*events.Extension); ok && x.PhoneSystemID == system {
			list = append(list, *x)
		}
	}
	if len(list) == 0 {
		i.Fatal("extensions = 0, want some")
	}
	return list
}
