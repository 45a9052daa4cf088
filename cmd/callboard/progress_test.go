package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A task is shown at intervals, and once more when another one begins or the display is closed.
func TestProgress_Lines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		p.Println("starting")
		p.Show("publishing", "events", 0, 200)
		p.Show("publishing", "events", 50, 200)
		pass(2 * time.Second)
		p.Show("publishing", "events", 20, 200) // of a slower goroutine
		p.Show("publishing", "events", 200, 200)
		pass(4 * time.Second)
		p.Show("reading", "lines", 7, 0)
		p.SetNote("waiting")
		pass(2 * time.Second)
		p.SetNote("")
		p.Show("reading", "lines", 9, 0)
		p.Show("switching", "", 0, 0)
		pass(2 * time.Second)
		p.Close()
		p.Close()
		want := []string{
			"starting",
			"publishing: 50 of 200 events (25%), 33/s, 5s left",
			"publishing: 200 of 200 events (100%), 67/s",
			"reading: 7 lines, 5/s; waiting",
			"reading: 9 lines, 4/s",
			"switching",
		}
		if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
			t.Errorf("output =\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// A terminal has one line for each task, which begins again with a carriage return.
func TestProgress_Bar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		p.terminal = true
		p.Show("publishing", "events", 100, 200)
		pass(2 * time.Second)
		p.Show("publishing", "events", 200, 200)
		p.Close()
		const clear, cut, wrap = "\r\x1b[K", "\x1b[?7l", "\x1b[?7h"
		want := clear + cut + "publishing [==========          ]: 100 of 200 events (50%), 67/s, 2s left" + wrap +
			clear + cut + "publishing [====================]: 200 of 200 events (100%), 100/s" + wrap + "\n"
		if out.String() != want {
			t.Errorf("output = %q, want %q", &out, want)
		}
	})
}

// pass advances the synthetic clock.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestProgress_ShortTaskPrintsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		p.Show("publishing", "events", 3, 0)
		p.Close()
		if out.Len() > 0 {
			t.Errorf("output = %q, want none", &out)
		}
	})
}
