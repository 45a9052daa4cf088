package progress_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"callboard/cmd/progress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDisplay_Lines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := progress.New(&out)
		d.Say("starting")
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
			"publishing: 50 of 200 events (25%)", "reading: 0 lines",
			"publishing: 200 of 200 events (100%)", "reading: 7 lines",
			"reading: 7 lines",
			"reading: 7 lines",
		}
		if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
			t.Errorf("it says\n%s", got)
		}
	})
}

// pass lets time pass that costs none.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestDisplay_ShortWorkLeavesNoTrace(t *testing.T) {
	var out strings.Builder
	d := progress.New(&out)
	d.Start("publishing", "events", 0).Set(3)
	d.Close()
	if out.Len() > 0 {
		t.Errorf("it says %q", &out)
	}
}

func TestIsTerminal(t *testing.T) {
	if progress.IsTerminal(&strings.Builder{}) {
		t.Error("a string is no terminal")
	}
}
