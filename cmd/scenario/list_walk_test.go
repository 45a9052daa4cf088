package scenario_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/sample"
)

// The pages of a company's call logs have every call that was not deleted, once and newest first.
func TestCallLogs_PageByPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	company := sample.New(sample.Config{Seed: 3, Systems: 3, Calls: 300, Days: 1200, Until: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	list := slices.Collect(company.Events())
	h.apply(list...)
	want := remainingCalls(list)
	for _, system := range company.Systems() {
		var got []string
		logs := "/" + system.ID.String() + "/call-logs?pageSize=37&page="
		key := h.systemKey(system.ID)
		for page, pages := 1, 1; page <= pages; page++ {
			a := h.get(key, logs+strconv.Itoa(page))
			pages = int(a.body["totalPages"].(float64))
			for _, row := range a.body["data"].([]any) {
				row := row.(map[string]any)
				got = append(got, row["createdAt"].(string)+" "+row["id"].(string))
			}
		}
		if len(want[system.ID]) == 0 || !slices.Equal(got, want[system.ID]) {
			t.Errorf("%s: rows = %q, want %q", system.Name, got, want[system.ID])
		}
	}
}

// remainingCalls returns the calls that events leave, by phone system, newest first.
func remainingCalls(list []events.Event) map[uuid.UUID][]string {
	newest := map[uuid.UUID]*events.Call{}
	isDeleted := map[uuid.UUID]bool{}
	for _, e := range list {
		if e.Entity != events.EntityCall {
			continue
		}
		id := uuid.MustParse(e.Key)
		if c, ok := e.State.(*events.Call); !ok {
			isDeleted[id] = true
		} else if newest[id] == nil || newest[id].Version < c.Version {
			newest[id] = c
		}
	}
	rows := map[uuid.UUID][]string{}
	for id, c := range newest {
		if !isDeleted[id] {
			rows[c.PhoneSystemID] = append(rows[c.PhoneSystemID], c.CreatedAt.String()+" "+id.String())
		}
	}
	for _, of := range rows {
		slices.SortFunc(of, func(a, b string) int { return strings.Compare(b, a) })
	}
	return rows
}
