package scenario_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write testdata/answers.json: read what changes")

// tenant is a phone system by its number. Every tenant has the events of the first one under another mark, which is in
// every identifier, name and text. So an answer shows whose data it has.
type tenant int

func (t tenant) mark() string { return fmt.Sprintf("7e4a%04x", int(t)) }

// own replaces the marks of the first tenant, and of the second one, to whose data the first one's calls refer.
func (t tenant) own(text string) string {
	const tenants = 3
	return strings.NewReplacer(tenant(1).mark(), t.mark(), tenant(2).mark(), (t%tenants + 1).mark()).Replace(text)
}

func (t tenant) system() uuid.UUID { return uuid.MustParse(t.mark() + "-0000-4000-8000-000000000004") }

// company is three tenants: two of an organization and of a group, and one of another organization.
type company struct {
	*harness
	organization, other, group uuid.UUID
	answers                    map[string]any // the first tenant's by path; of a refusal: its code
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{harness: newHarness(t), organization: uuid.New(), other: uuid.New(), group: uuid.New()}
	lines, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	c.Exec(`insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state)
		values (gen_random_uuid(), 'test', 'https://example.com', '{call.ended}', 'system', gen_random_uuid(), 'active')`)
	c.apply(c.phoneSystem(1, 1, c.organization), c.phoneSystem(2, 1, c.organization), c.phoneSystem(3, 1, c.other))
	c.apply(c.members(1, 1, 2))
	for n := tenant(1); n <= 3; n++ {
		for line := range events.ReadLines(t.Context(), strings.NewReader(n.own(string(lines))), "test") {
			if line.Err != nil {
				t.Fatal(line.Err)
			}
			c.Publish(line.Event)
		}
	}
	c.WaitUntilCaughtUp()

	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	c.decode(text, &c.answers)
	return c
}

func (c *company) phoneSystem(n tenant, version int64, organization uuid.UUID) events.Event {
	return events.Changed(&events.PhoneSystem{
		ID: n.system(), Version: version, Name: n.mark(), OrganizationID: events.Some(organization),
	})
}

func (c *company) members(version int64, tenants ...tenant) events.Event {
	g := &events.Group{ID: c.group, Version: version, Name: "Group"}
	for _, n := range tenants {
		g.PhoneSystemIDs = append(g.PhoneSystemIDs, n.system())
	}
	return events.Changed(g)
}

// present matches times, signatures and cursors.
var present = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"|/audio/[^"]+|"nextCursor":"[^"]+"`)

// answer requests a path below a tenant's phone system. Of what depends on the time of the test, the answer has "now".
func (c *company) answer(key access.Key, path string) (value any) {
	c.Helper()
	status, body := c.get(key, path)
	if status != http.StatusOK {
		var problem struct{ Code string }
		c.decode(body, &problem)
		return fmt.Sprint(status, " ", problem.Code)
	}
	c.decode(present.ReplaceAllFunc(body, func(text []byte) []byte {
		at, err := time.Parse(time.RFC3339, strings.Trim(string(text), `"`))
		switch {
		case err == nil && at.Before(c.start.Add(-time.Minute)):
			return text
		case err == nil:
			return []byte(`"now"`)
		case text[0] == '/':
			return []byte("/audio/...")
		}
		return []byte(`"nextCursor":"..."`)
	}), &value)
	return value
}

func systemPath(n tenant, path string) string { return "/" + n.system().String() + path }

// Each operation answers what testdata/answers.json says: of each resource, a row with all values, one with few, and
// none of a row that was deleted.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	key := c.issueKey(access.GrantSystem, tenant(1).system())
	operations := map[string]bool{"": true} // with the list of phone systems, which TestCoverage requests
	identifier := regexp.MustCompile(`/[^/?]*7e4a0001[^/?]*|\?.*`)
	for path, want := range c.answers {
		got := c.answer(key, systemPath(1, path))
		if c.answers[path] = got; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s, want %s", path, text(t, got), text(t, want))
		}
		if _, refused := want.(string); !refused {
			operations[identifier.ReplaceAllString(path, "/{}")] = true
		}
	}
	if len(operations) != 24 && !*update {
		t.Errorf("operations = %d, want 24: %v", len(operations), slices.Sorted(maps.Keys(operations)))
	}
	if *update {
		if err := os.WriteFile("testdata/answers.json", []byte(text(t, c.answers)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A key reads the phone systems of its grant, as if there were no others, and nothing of another phone system. All
// refusals are one answer, whatever there is and whose it is.
func TestIsolation(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	var refusal string
	requireRefused := func(key access.Key, path string) {
		t.Helper()
		status, body := c.get(key, path)
		if refusal == "" {
			refusal = string(body)
		}
		if status != http.StatusNotFound || string(body) != refusal {
			t.Errorf("%s: %d %s, want 404 and %s", path, status, body, refusal)
		}
	}
	for _, k := range []struct {
		kind   access.GrantKind
		id     uuid.UUID
		covers []tenant
	}{
		{access.GrantSystem, tenant(1).system(), []tenant{1}},
		{access.GrantGroup, c.group, []tenant{1, 2}},
		{access.GrantOrganization, c.organization, []tenant{1, 2}},
		{access.GrantOrganization, c.other, []tenant{3}},
	} {
		key := c.issueKey(k.kind, k.id)
		for path, answer := range c.answers {
			for n := tenant(1); n <= 3; n++ {
				own := systemPath(n, n.own(path))
				if !slices.Contains(k.covers, n) {
					requireRefused(key, own)
					continue
				}
				want := n.own(text(t, answer))
				if got := text(t, c.answer(key, own)); got != want {
					t.Errorf("%s: %s, want %s", own, got, want)
				}
				if foreign := (n%3 + 1).own(path); foreign != path && !strings.Contains(path, "?") {
					requireRefused(key, systemPath(n, foreign))
				}
			}
		}
	}
}

// What keys cover follows the events about phone systems and groups.
func TestCoverage(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	grants := map[string]access.Key{
		"system": c.issueKey(access.GrantSystem, tenant(1).system()), "group": c.issueKey(access.GrantGroup, c.group),
		"organization": c.issueKey(access.GrantOrganization, c.organization),
	}
	expect := func(when string, want map[string][]tenant) {
		t.Helper()
		for grant, key := range grants {
			var list struct{ Data []struct{ ID uuid.UUID } }
			_, body := c.get(key, "")
			c.decode(body, &list)
			var got []uuid.UUID
			for _, s := range list.Data {
				got = append(got, s.ID)
			}
			var ids []uuid.UUID
			for _, n := range want[grant] {
				ids = append(ids, n.system())
			}
			if !slices.Equal(got, ids) {
				t.Errorf("%s: phone systems of the %s = %v, want %v", when, grant, got, ids)
			}
		}
	}
	expect("at first", map[string][]tenant{"system": {1}, "group": {1, 2}, "organization": {1, 2}})
	c.apply(c.phoneSystem(1, 2, c.other), c.members(2, 3))
	expect("another organization and member", map[string][]tenant{"system": {1}, "group": {3}, "organization": {2}})
	c.apply(events.Deleted(events.Changed(&events.PhoneSystem{ID: tenant(1).system(), Version: 3}).Identity))
	expect("deleted", map[string][]tenant{"group": {3}, "organization": {2}})
}

// What a notice tells of can be fetched.
func TestNotices(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	key := c.issueKey(access.GrantSystem, tenant(1).system())
	rows, err := c.Pool.Query(t.Context(), `
		select distinct case kind
		  when 'call.ended' then '/call-logs?callSid=' || call_sid
		  when 'call.recording.available' then '/recordings/' || recording_sid || '/url'
		  when 'call.analysis.completed' then '/call-analyses?callLogId=' || call_log_id
		  else coalesce('/call-logs/' || call_log_id, '/voicemails/' || voicemail_id)
		end
		from webhook.notice where system_id = $1 and recording_sid is distinct from $2`,
		tenant(1).system(), "RE"+tenant(1).mark()+"gone") // which is deleted again
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	fetched := 0
	for ; rows.Next(); fetched++ {
		var path string
		if err := rows.Scan(&path); err != nil {
			t.Fatal(err)
		}
		got := text(t, c.answer(key, systemPath(1, path)))
		if !strings.Contains(got, tenant(1).mark()) && !strings.Contains(got, "/audio/") {
			t.Errorf("%s: %s, want what the notice tells of", path, got)
		}
	}
	if fetched != 8 {
		t.Errorf("fetched = %d, want 8", fetched)
	}
}
