package registry_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

func TestDeliveries(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.deliver(id, 1, 4)
	h.finish(1, "delivered")
	h.finish(3, "dead")
	all := h.deliveries(registry.Query{Endpoint: id, Limit: 10})
	var states []registry.DeliveryState
	for _, d := range all {
		states = append(states, d.State)
	}
	if want := []registry.DeliveryState{registry.Waiting, registry.Dead, registry.Waiting, registry.Delivered}; !slices.Equal(states, want) {
		t.Fatalf("states = %v, want %v", states, want)
	}
	if d := all[1]; d.ID != 3 || d.Event != "evt_3" || d.Identifiers.CallSid != "CA3" || d.Identifiers.PhoneSystemID != h.system || d.NextAt != nil ||
		len(d.Attempts) != 1 || *d.Attempts[0].Status != 500 || *d.Attempts[0].Error != "status 500" || d.Attempts[0].MS != 7 || d.Cause != "fired" {
		t.Errorf("delivery = %+v, want the dead one with its attempt", d)
	}
	if d := all[0]; d.NextAt == nil || d.Attempts == nil || len(d.Attempts) != 0 {
		t.Errorf("delivery = %+v, want it waiting, without attempts", d)
	}
	for what, q := range map[string]registry.Query{
		"dead":     {State: registry.Dead},
		"the call": {CallSid: "CA3"},
	} {
		q.Endpoint, q.Limit = id, 10
		if list := h.deliveries(q); len(list) != 1 || list[0].ID != 3 {
			t.Errorf("%s: deliveries = %+v, want the third", what, list)
		}
	}
	for what, q := range map[string]registry.Query{
		"another kind": {Kind: webhook.VoicemailCreated},
		"the future":   {Since: time.Now().Add(time.Hour)},
	} {
		q.Endpoint = id
		if list := h.deliveries(q); list == nil || len(list) != 0 {
			t.Errorf("%s: deliveries = %+v, want an empty list", what, list)
		}
	}
	if list, more, err := h.Deliveries(t.Context(), registry.Query{Endpoint: id, Limit: 3}); err != nil || len(list) != 3 || !more {
		t.Errorf("limit 3: %d deliveries, more = %v, %v, want 3 and more", len(list), more, err)
	}
	if _, _, err := h.Deliveries(t.Context(), registry.Query{Endpoint: uuid.New(), Limit: 1}); !errors.Is(err, registry.ErrUnknownEndpoint) {
		t.Errorf("unknown endpoint: error = %v, want ErrUnknownEndpoint", err)
	}
	if e := h.show(id); e.Waiting != 2 || e.Dead != 1 || *e.SuccessRate != 0.5 || *e.P50 != 7 || *e.P99 != 7 {
		t.Errorf("endpoint = %+v, want 2 waiting, 1 dead, half successful", e.Endpoint)
	}
}

func TestRedeliver(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	h.deliver(id, 1, 5)
	h.finish(1, "delivered")
	h.finish(2, "dead")
	h.finish(3, "dead")
	h.Exec("update webhook.delivery set due_at = now() + interval '1 hour', tries = 2")
	if _, err := h.Redeliver(t.Context(), []int64{1, 99, 98}); !errors.Is(err, registry.ErrUnknownDelivery) || !strings.Contains(err.Error(), " 98, 99") {
		t.Errorf("error = %v, want unknown ids 98 and 99", err)
	}
	h.Want("waiting", "2", "select count(*) from webhook.waiting")
	if n, err := h.Redeliver(t.Context(), []int64{4, 1, 1}); n != 2 || err != nil {
		t.Errorf("redelivered = %d, %v, want 2", n, err)
	}
	h.Want("due", "1 redelivered 0,4 fired 2", "select string_agg(concat_ws(' ', id, cause, tries), ',' order by id) from webhook.waiting where due_at <= now()")
	if n, err := h.RedeliverState(t.Context(), id, registry.Dead, time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("redelivered of the future = %d, %v, want none", n, err)
	}
	if n, err := h.RedeliverState(t.Context(), id, registry.Dead, time.Time{}); n != 2 || err != nil {
		t.Errorf("redelivered = %d, %v, want 2", n, err)
	}
	h.Want("finished", "0", "select count(*) from webhook.finished")
	h.Want("audited", "1,2", "select string_agg(after->>'deliveries', ',' order by id) from webhook.audit where command = 'redeliver'")
	if d := h.deliveries(registry.Query{Endpoint: id, Limit: 10})[3]; d.ID != 2 || len(d.Attempts) != 1 || d.State != registry.Waiting {
		t.Errorf("delivery = %+v, want it waiting with its former attempt", d)
	}
	h.finish(1, "dead")
	h.Must(h.Remove(t.Context(), id))
	if _, err := h.Redeliver(t.Context(), []int64{1}); !errors.Is(err, registry.ErrState) {
		t.Errorf("of a removed endpoint: error = %v, want ErrState", err)
	}
}

func TestReplay(t *testing.T) {
	h := newHarness(t)
	organization, other := uuid.New(), uuid.New()
	h.addSystem(other, organization)
	system, attached := h.register(0), h.registerFor(registry.Target{Kind: registry.Organization, ID: organization}, 0)
	group := uuid.New()
	members := h.registerFor(registry.Target{Kind: registry.Group, ID: group}, 0)
	h.Exec("insert into projection.phone_system_group_member values ($1, $3), ($2, $3)", h.system, other, group)
	h.Exec("update webhook.endpoint set created_at = now() - interval '2 days'")
	start := time.Now().Add(-time.Hour)
	for i := range 3 {
		h.notice(h.system, i+1, webhook.CallEnded, start.Add(time.Duration(i)*time.Minute))
	}
	h.notice(other, 4, webhook.VoicemailCreated, start)
	h.notice(uuid.New(), 5, webhook.CallEnded, start) // of a phone system that is not there
	h.notice(h.system, 6, webhook.CallEnded, start)
	h.Exec("update webhook.fanout set sequence = 5") // not released
	for _, c := range []struct {
		what     string
		endpoint uuid.UUID
		until    time.Time
		kinds    []webhook.Kind
		want     int64
	}{
		{"a phone system", system, time.Now(), nil, 3},
		{"two minutes", system, start.Add(2 * time.Minute), nil, 2},
		{"an organization", attached, time.Now(), nil, 1},
		{"a group", members, time.Now(), nil, 4},
		{"a kind", members, time.Now(), []webhook.Kind{webhook.VoicemailCreated}, 1},
	} {
		replay := registry.Replay{Endpoint: c.endpoint, Since: start, Until: c.until, Kinds: c.kinds, Days: 30}
		if n, err := h.Replay(t.Context(), replay, true); n != c.want || err != nil {
			t.Errorf("%s: events = %d, %v, want %d", c.what, n, err, c.want)
		}
	}
	h.Want("deliveries after dry runs", "0", "select count(*) from webhook.waiting")
	for range 2 { // the second one continues after the first
		if n, err := h.Replay(t.Context(), registry.Replay{Endpoint: system, Since: start, Until: time.Now(), Days: 30}, false); n != 3 || err != nil {
			t.Errorf("events = %d, %v, want 3", n, err)
		}
	}
	h.Want("deliveries", "evt_1 replayed,evt_2 replayed,evt_3 replayed,evt_1 replayed,evt_2 replayed,evt_3 replayed",
		"select string_agg(event_id || ' ' || cause, ',' order by id) from webhook.waiting")
	h.Want("order of the times", "1,2,3,4,5,6", "select string_agg(id::text, ',' order by due_at, id) from webhook.waiting")
	h.Want("time of the first replay", "40", "select extract(milliseconds from max(due_at) - min(due_at))::int from webhook.waiting where id <= 3")
	h.Want("audited", "3", "select after->>'deliveries' from webhook.audit where command = 'replay' order by id limit 1")
}

// Notices are recorded from the first endpoint on, until the last one is removed.
func TestReplay_WhileThereWasAnEndpoint(t *testing.T) {
	h := newHarness(t)
	added := func(days int) uuid.UUID {
		id := h.register(0)
		h.Exec("update webhook.endpoint set created_at = now() - $2 * interval '1 day' where id = $1", id, days)
		return id
	}
	replay := func(id uuid.UUID, days int) error {
		_, err := h.Replay(t.Context(), registry.Replay{Endpoint: id, Since: time.Now().AddDate(0, 0, -days), Until: time.Now(), Days: 30}, true)
		return err
	}
	first, second := added(10), added(5)
	if err := replay(second, 9); err != nil {
		t.Errorf("while there was another endpoint: error = %v, want none", err)
	}
	h.Exec("update webhook.endpoint set state = 'removed', stopped_at = now() - interval '4 days' where id = $1", first)
	if err := replay(second, 9); err != nil {
		t.Errorf("while there was another endpoint, which is removed: error = %v, want none", err)
	}
	h.Exec("update webhook.endpoint set stopped_at = now() - interval '6 days' where id = $1", first)
	if err := replay(second, 6); !errors.Is(err, registry.ErrNotKept) {
		t.Errorf("while there was no endpoint: error = %v, want ErrNotKept", err)
	}
	if err := replay(second, 4); err != nil {
		t.Errorf("since there is one again: error = %v, want none", err)
	}
}

func TestReplay_Refused(t *testing.T) {
	h := newHarness(t)
	id := h.register(0)
	since := time.Now().Add(-10 * 24 * time.Hour)
	h.Exec("update webhook.endpoint set created_at = $1", since)
	replay := func(since time.Time, days int, kinds ...webhook.Kind) error {
		_, err := h.Replay(t.Context(), registry.Replay{Endpoint: id, Since: since, Until: time.Now(), Days: days, Kinds: kinds}, false)
		return err
	}
	kept := since.Add(time.Second - 1).Truncate(time.Second)
	if err := replay(since.Add(-time.Second), 30); !errors.Is(err, registry.ErrNotKept) || !strings.Contains(err.Error(), kept.UTC().Format(time.RFC3339)) {
		t.Errorf("before the first endpoint: error = %v, want ErrNotKept and %s", err, kept)
	} else if err := replay(kept, 30); err != nil {
		t.Errorf("from the instant of the error on: error = %v, want none", err)
	}
	if err := replay(time.Now().Add(-9*24*time.Hour), 7); !errors.Is(err, registry.ErrNotKept) || !strings.Contains(err.Error(), "7 days") {
		t.Errorf("9 days ago: error = %v, want 7 days", err)
	}
	var invalid *registry.InvalidError
	if err := replay(time.Now().Add(time.Hour), 30); !errors.As(err, &invalid) {
		t.Errorf("the future: error = %v, want an InvalidError", err)
	}
	h.Must(h.Set(t.Context(), id, registry.Changes{Kinds: []webhook.Kind{webhook.CallEnded}}))
	if err := replay(time.Now().Add(-time.Hour), 30, webhook.VoicemailCreated); !errors.As(err, &invalid) {
		t.Errorf("a kind of other endpoints: error = %v, want an InvalidError", err)
	}
}

// A target covers what a key's grant covers.
func TestReplay_CoverageIsThatOfKeys(t *testing.T) {
	rule := func(file, kind, id string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?s)case ` + regexp.QuoteMeta(kind) + `\s.*?\n +end`).FindString(string(text))
		if found == "" {
			t.Fatalf("%s has no rule by %s", file, kind)
		}
		return strings.Join(strings.Fields(strings.NewReplacer(kind, "KIND", id, "ID").Replace(found)), " ")
	}
	got, want := rule("covered_systems.sql", "$1", "$2"), rule("../../../readapi/access/authorize.sql", "k.grant_kind", "k.grant_id")
	whens := func(rule string) []string {
		parts := strings.Split(strings.TrimSuffix(rule, " end"), " when ")[1:]
		slices.Sort(parts)
		return parts
	}
	if !slices.Equal(whens(got), whens(want)) {
		t.Errorf("rule = %s, want %s", got, want)
	}
}
