package scenario_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// crowd is a phone system with as many rows in every list. Two at a time were created together, and they were published in no
// order.
type crowd struct {
	*world
	system uuid.UUID
	key    access.Key
	rows   map[string][]string // by list, each row's time and identifier
}

func (w *world) crowd(size int) *crowd {
	w.t.Helper()
	c := &crowd{world: w, rows: make(map[string][]string)}
	c.system, c.key = w.own()
	c.grow(size)
	return c
}

// grow adds newer rows to every list.
func (c *crowd) grow(by int) {
	c.t.Helper()
	var states []events.State
	for range by {
		states = append(states, c.generation()...)
	}
	rand.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
	c.happen(changed(states...)...)
}

// newest are the identifiers of a list's rows as they have to come.
func (c *crowd) newest(list string) []string {
	rows := slices.SortedFunc(slices.Values(c.rows[list]), func(a, b string) int { return cmp.Compare(b, a) })
	for i := range rows {
		_, rows[i], _ = strings.Cut(rows[i], " ")
	}
	return rows
}

func (c *crowd) path(below string) string { return "/" + c.system.String() + below }

// add notes a row to come and returns its identifier.
func (c *crowd) add(list string, created events.Time) uuid.UUID {
	id := uuid.New()
	c.note(list, created, id.String())
	return id
}

func (c *crowd) note(list string, created events.Time, id string) {
	c.rows[list] = append(c.rows[list], created.String()+" "+id)
}

// generation is a row for each list.
func (c *crowd) generation() []events.State {
	i := len(c.rows["/phones"])
	created := events.TimeOf(time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC).Add(time.Duration(i/2) * 35 * time.Minute))
	ofCall := call(c.system, c.add("/call-logs", created), 1)
	ofCall.CreatedAt = created
	sound := recording(c.system, ofCall.ID, "RE"+strings.ReplaceAll(uuid.NewString(), "-", ""), 1, events.RecordingProcessing)
	sound.CreatedAt = created
	c.note("/recordings", created, sound.RecordingSid)
	number := strconv.Itoa(100 + i)
	return []events.State{
		ofCall, sound,
		&events.Analysis{
			ID: c.add("/call-analyses", created), PhoneSystemID: c.system, Version: 1, CallID: ofCall.ID, CallSid: ofCall.CallSid, Status: "pending", CreatedAt: created,
		},
		&events.Voicemail{ID: c.add("/voicemails", created), PhoneSystemID: c.system, Version: 1, CallSid: ofCall.CallSid, RecordingSid: "REnone", CreatedAt: created},
		&events.Phone{ID: c.add("/phones", created), PhoneSystemID: c.system, Version: 1, Name: "P", Status: "active", CreatedAt: created},
		&events.PhoneNumber{
			ID: c.add("/phone-numbers", created), PhoneSystemID: c.system, Version: 1, PhoneNumber: "+14155550" + number, Status: "active", Origin: "managed", CreatedAt: created,
		},
		&events.Extension{ID: c.add("/extensions", created), PhoneSystemID: c.system, Version: 1, Number: number, Name: "E", Status: "active", CreatedAt: created},
		&events.AgentConfig{ID: c.add("/agent-configs", created), PhoneSystemID: c.system, Version: 1, Name: "A", Status: "active", CreatedAt: created},
		&events.CallGroup{
			ID: c.add("/call-groups", created), PhoneSystemID: c.system, Version: 1, Number: number, Name: "G", Status: "active", RingPattern: "all", CreatedAt: created,
		},
		&events.CallMenu{ID: c.add("/call-menus", created), PhoneSystemID: c.system, Version: 1, Name: "M", Status: "active", CreatedAt: created},
	}
}

// walk reads a list page by page.
func (c *crowd) walk(list string, size int) []string {
	c.t.Helper()
	var all []string
	for page, pages := 1, 1; page <= pages; page++ {
		a := c.get(c.key, c.path(fmt.Sprintf("%s?pageSize=%d&page=%d", list, size, page)))
		total, ok := a.body["totalPages"].(float64)
		if !ok {
			c.t.Fatalf("%s: %d %s", list, a.status, a.text)
		}
		pages, all = int(total), append(all, a.ids()...)
	}
	return all
}
