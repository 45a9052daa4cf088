package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDisplay_Lines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := newProgress(&out)
		d.Println("starting")
		known := d.Start("publishing", "events", 200)
		unknown := d.Start("reading", "lines", 0)
		known.Set(50)
		pass(2 * time.Second)
		known.Set(200)
		unknown.Set(7)
		pass(4 * time.Second)
		d.Close()
		d.Close()
		want := []string{
			"starting",
			"publishing: 50 of 200 events (25%), 33/s, 5s left", "reading: 0 lines, 0/s",
			"publishing: 200 of 200 events (100%), 67/s", "reading: 7 lines, 2/s",
			"reading: 7 lines, 2/s",
			"reading: 7 lines, 1/s",
		}
		if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
			t.Errorf("output =\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// A finished task prints one more line, and a note follows the numbers.
func TestTask_FinishAndNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := newProgress(&out)
		bare := d.Start("switching", "", 0)
		task := d.Start("folding", "messages", 100)
		task.Set(30)
		task.SetNote("waiting")
		pass(2 * time.Second)
		bare.Finish()
		task.SetNote("")
		task.SetTotal(60)
		pass(2 * time.Second)
		task.Set(45)
		task.Finish()
		task.Finish()
		pass(4 * time.Second)
		d.Close()
		want := []string{
			"switching", "folding: 30 of 100 messages (30%), 20/s, 4s left; waiting",
			"folding: 30 of 60 messages (50%), 10/s, 3s left",
			"folding: 45 of 45 messages (100%), 11/s",
		}
		if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
			t.Errorf("output =\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// pass advances the synthetic clock.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestDisplay_ShortTaskPrintsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := newProgress(&out)
		d.Start("publishing", "events", 0).Set(3)
		d.Close()
		if out.Len() > 0 {
			t.Errorf("output = %q, want none", &out)
		}
	})
}
