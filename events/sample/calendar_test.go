package sample

import (
	"testing"
	"time"

	"callboard/events"
)

func TestLocal(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, time.December, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2024, time.February, 29, 13, 0, 0, 0, time.UTC), time.Date(1965, time.July, 5, 6, 0, 0, 0, time.UTC),
	} {
		of := local(events.TimeOf(at))
		if want := (int(at.Weekday()) + 6) % 7; of.weekday != want || of.hour != at.Hour() {
			t.Errorf("%s: weekday %d hour %d, want %d and %d", at, of.weekday, of.hour, want, at.Hour())
		}
	}
}

// People call when a business is open: fewer at night than in the day, fewer on Sundays than on Tuesdays.
func TestCalendar_Hours(t *testing.T) {
	c := New(Config{Seed: 2, Systems: 6, Calls: 20000})
	zones := map[string]events.Time{}
	for _, s := range c.systems {
		zones[s.id.String()] = s.calendar.zone
	}
	var hours [24]int
	var weekdays [7]int
	for e := range c.History() {
		if call, ok := e.State.(*events.Call); ok && call.Version == 1 {
			of := local(call.CreatedAt + zones[call.PhoneSystemID.String()])
			hours[of.hour]++
			weekdays[of.weekday]++
		}
	}
	if hours[3]*10 > hours[10] || hours[22]*5 > hours[15] || hours[12] >= hours[10] {
		t.Errorf("calls by hour: %v", hours)
	}
	if weekdays[6]*4 > weekdays[1] || weekdays[5] >= weekdays[1] {
		t.Errorf("calls by weekday: %v", weekdays)
	}
}

func TestHistory_Durations(t *testing.T) {
	var short, middle, long int
	for e := range New(Config{Seed: 2, Calls: 10000}).History() {
		if call, ok := e.State.(*events.Call); ok && call.Outcome == events.Some("answered") && call.Version == 1 {
			switch s := call.Duration.Value; {
			case s < 30:
				short++
			case s < 300:
				middle++
			default:
				long++
			}
			if got := (call.EndTime.Value - call.StartTime.Value) / second; int64(got) != call.Duration.Value {
				t.Fatalf("from start to end %d s, duration %d s", got, call.Duration.Value)
			}
		}
	}
	if middle < 4*short || short == 0 || long*3 > middle || long == 0 {
		t.Errorf("%d short, %d middling, %d long calls", short, middle, long)
	}
}

func TestSlots(t *testing.T) {
	c := New(Config{Seed: 4, Systems: 1, Calls: 3000})
	s := slots{calendar: &c.systems[0].calendar, dice: newDice(1)}
	var last events.Time
	for n := 3000; ; n-- {
		if s.left() != n {
			t.Fatalf("%d left, want %d", s.left(), n)
		}
		at, ok := s.next()
		if !ok {
			break
		}
		if at < last || at < c.from || at > c.until-settle {
			t.Fatalf("%s after %s", at, last)
		}
		last = at
	}
	if s.given != 3000 {
		t.Errorf("%d calls", s.given)
	}
}
