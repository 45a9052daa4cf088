package command_test

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

type keyRecord struct {
	ID, Lineage, Name, State, Tier string
	Allow                          []string
	CreatedAt                      time.Time
	ExpiresAt, RevokedAt           *time.Time
	LastUsedAt                     *time.Time
	LastUsedAddress                *string
}

type keyWithLineage struct {
	keyRecord
	LineageKeys []keyRecord
}

// keysFixture is a reader, and an operator's commands about its keys.
type keysFixture struct {
	*fleet
	operator  map[string]string
	discovery string // a URL that every key may read
}

func (f keysFixture) in(t *testing.T) keysFixture {
	t.Helper()
	f.fleet = f.fleet.in(t)
	return f
}

func (f keysFixture) issue(name string, args ...string) keyWithID {
	f.Helper()
	return issueKey(f, f.operator, systemID, append([]string{"--name", name, "--scopes", "calls:read"}, args...)...)
}

func (f keysFixture) show(id string) keyWithLineage {
	f.Helper()
	return succeedJSON[keyWithLineage](f, f.operator, "keys", "show", id)
}

func (f keysFixture) succeed(args ...string) string {
	f.Helper()
	return succeed(f, f.operator, "", append([]string{"keys"}, args...)...)
}

func TestKeys(t *testing.T) {
	fleet := newFleet(t)
	f := keysFixture{fleet: fleet, operator: fleet.operator()}
	if out := f.succeed("list", "--json"); out != "[]\n" {
		t.Errorf("keys list: output = %s, want an empty list", out)
	}
	f.discovery = f.startReader().base + "/customer/phone-systems"
	t.Run("roll", func(t *testing.T) { checkRoll(t, f.in(t)) })
	t.Run("secret is printed once", func(t *testing.T) { checkSecretPrintedOnce(t, f.in(t)) })
	t.Run("refused", func(t *testing.T) { checkKeysRefused(t, f.in(t)) })
	t.Run("last use", func(t *testing.T) { checkLastUse(t, f.in(t)) })
	t.Run("audit", func(t *testing.T) { checkKeysAudit(t, f.in(t)) })
}

func checkRoll(t *testing.T, f keysFixture) {
	t.Helper()
	old := f.issue("month", "--expires", "30d", "--allow", "127.0.0.0/8", "--tier", "premium")
	rolled := succeedJSON[struct {
		Key string
		keyRecord
		RolledFrom keyRecord
	}](t, f.operator, "keys", "roll", old.ID, "--overlap", "1d12h")
	if rolled.ID == old.ID || rolled.Name != "month" || rolled.Tier != "premium" || !reflect.DeepEqual(rolled.Allow, []string{"127.0.0.0/8"}) {
		t.Errorf("rolled key = %+v, want another id and the same rights", rolled)
	}
	lifetime, overlap := rolled.ExpiresAt.Sub(rolled.CreatedAt), rolled.RolledFrom.ExpiresAt.Sub(rolled.CreatedAt)
	if lifetime.Round(time.Minute) != 720*time.Hour || overlap != 36*time.Hour || rolled.RolledFrom.ID != old.ID {
		t.Errorf("lifetime = %s, overlap = %s, want 720h and 36h", lifetime, overlap)
	}
	expectStatus(t, f.discovery, old.Key, http.StatusOK)
	expectStatus(t, f.discovery, rolled.Key, http.StatusOK)
	for _, id := range []string{old.ID, rolled.ID} {
		if k := f.show(id); k.ID != id || k.State != "active" || len(k.LineageKeys) != 2 || k.LineageKeys[0].ID != rolled.ID {
			t.Errorf("key = %+v, want it active, in a lineage of 2 with %s first", k, rolled.ID)
		}
	}
	out := f.succeed("show", old.ID)
	if !regexp.MustCompile(`(?m)^id +`+old.ID).MatchString(out) || !regexp.MustCompile(`(?m)^`+rolled.ID+` +active`).MatchString(out) {
		t.Errorf("keys show: output = %s, want the key and its lineage", out)
	}
	if out := f.succeed("revoke", old.ID); !strings.Contains(out, rolled.ID+" of the same lineage is still active") {
		t.Errorf("keys revoke: output = %s, want the active key of the lineage", out)
	}
	expectStatus(t, f.discovery, old.Key, http.StatusUnauthorized)
	expectStatus(t, f.discovery, rolled.Key, http.StatusOK)
}

// Only issue and roll print a secret, once.
func checkSecretPrintedOnce(t *testing.T, f keysFixture) {
	t.Helper()
	old := f.issue("roll")
	secret := regexp.MustCompile(`sk_phones_\w{60,}`)
	out := f.succeed("roll", old.ID)
	keys := secret.FindAllString(out, -1)
	if len(keys) != 1 || keys[0] == old.Key || !strings.Contains(out, "The old key, "+old.ID+", is valid until ") {
		t.Fatalf("keys roll: %d secrets, want a new one; output =\n%s", len(keys), secret.ReplaceAllString(out, "..."))
	}
	id := regexp.MustCompile(`(?m)^id +(\S+)$`).FindStringSubmatch(out)
	if len(id) != 2 {
		t.Fatalf("keys roll: no id; output =\n%s", secret.ReplaceAllString(out, "..."))
	}
	out = f.succeed("roll", id[1], "--overlap", "0s", "--expires", "1h")
	if !strings.Contains(out, "The old key, "+id[1]+", has expired.") || !strings.Contains(out, "\nexpiresAt ") {
		t.Errorf("keys roll --overlap 0s: output = %s, want an expired old key", secret.ReplaceAllString(out, "..."))
	}
	expectStatus(t, f.discovery, keys[0], http.StatusUnauthorized)
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", old.ID}, {"show", old.ID, "--json"}, {"audit", old.ID}, {"revoke", old.ID}, {"revoke", old.ID, "--json"},
	} {
		if out := f.succeed(args...); secret.MatchString(out) {
			t.Errorf("keys %v prints a secret", args)
		}
	}
}

func checkKeysRefused(t *testing.T, f keysFixture) {
	t.Helper()
	key, unknown := f.issue("refused"), uuid.NewString()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{1, "no key has the id " + unknown, []string{"roll", unknown}},
		{2, "overlap", []string{"roll", key.ID, "--overlap", "31d"}},
		{2, "--expires", []string{"issue", "--name", "x", "--system", systemID, "--scopes", "calls:read", "--expires", "0s"}},
		{2, "--since", []string{"audit", key.ID, "--since", "7 days"}},
	} {
		r := command(t, f.operator, "", append([]string{"keys"}, c.args...)...)
		if r.code != c.code || r.out != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("keys %v: exit code = %d, output = %s%s, want %d, none and %q", c.args, r.code, r.out, r.err, c.code, c.want)
		}
	}
	r := command(t, f.operator, "", "keys", "issue", "--name", "early", "--scopes", "calls:read", "--system", unknown)
	if want := "no event has named phone system " + unknown; r.code != 0 || !strings.HasPrefix(r.out, "sk_phones_") || !strings.Contains(r.err, want) {
		t.Errorf("keys issue for an unknown phone system: exit code = %d, errors = %q, want a key and %q", r.code, r.err, want)
	}
}

func checkLastUse(t *testing.T, f keysFixture) {
	t.Helper()
	key := f.issue("a\x1b[31m\tname")
	if k := f.show(key.ID); k.LastUsedAt != nil || k.LastUsedAddress != nil {
		t.Errorf("unused key = %+v, want no last use", k)
	}
	f.exec("insert into access.key_use values ($1, '2026-03-02T09:30:00Z', '192.0.2.7')", key.ID)
	k := f.show(key.ID)
	if k.LastUsedAt == nil || k.LastUsedAt.Year() != 2026 || k.LastUsedAddress == nil || *k.LastUsedAddress != "192.0.2.7" {
		t.Errorf("used key = %+v, want a last use in 2026 from 192.0.2.7", k)
	}
	out := f.succeed("list")
	if !strings.Contains(out, "2026-03-02T09:30:00Z") || !strings.Contains(out, `"a\x1b[31m\tname"`) {
		t.Errorf("keys list: output = %q, want the last use and an escaped name", out)
	}
}

func checkKeysAudit(t *testing.T, f keysFixture) {
	t.Helper()
	key := f.issue("audited")
	if out := f.succeed("audit", key.ID, "--since", "7d"); !strings.HasPrefix(out, "No requests since ") || !strings.HasSuffix(out, ". Last used: never.\n") {
		t.Errorf("keys audit: output = %s, want none in 7d", out)
	}
	// Partitions of four days, so that the entries fit whatever the time of day is, and whatever it becomes.
	f.exec("select access.open_audit_day((now() at time zone 'UTC')::date - i) from generate_series(-1, 2) i")
	const insert = `insert into access.audit values (now() - make_interval(mins => $1), gen_random_uuid(), $2, 'listCallLogs', $3, $4, $5, $6, $7)`
	f.exec(insert, 1, key.ID, systemID, 200, nil, "2001:db8::7", "first")
	f.exec(insert, 2, key.ID, nil, 404, "NOT_FOUND", nil, "esc\x1b]0;x\x07\n"+"\u202e")
	f.exec(insert, 90, key.ID, nil, 200, nil, nil, "old")
	type request struct {
		RequestID                    string
		PhoneSystemID, Code, Address *string
		Status                       int
		Count                        int64
	}
	requests := succeedJSON[[]request](t, f.operator, "keys", "audit", key.ID)
	if len(requests) != 2 || requests[0].RequestID != "first" || requests[0].Status != 200 || requests[0].Count != 1 || requests[0].Code != nil ||
		*requests[0].PhoneSystemID != systemID || *requests[0].Address != "2001:db8::7" || *requests[1].Code != "NOT_FOUND" {
		t.Errorf("requests = %+v, want the two of the last hour, the newest first", requests)
	}
	out := f.succeed("audit", key.ID, "--since", "2h")
	for _, want := range []string{
		`at +status +code +operation +phoneSystemId +address +addresses +count +requestId +lastRequestId +lastAt\n`,
		`Z +200 +- +listCallLogs +` + systemID + ` +2001:db8::7 +\d+ +1 +first `,
		`Z +404 +NOT_FOUND +listCallLogs +- +- +\d+ +1 +"esc\\x1b\]0;x\\a\\n\\u202e" `, ` 1 +old `,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("keys audit: output = %q, want %s", out, want)
		}
	}
	flooded := f.issue("flooded")
	f.exec(`insert into access.audit values (now(), gen_random_uuid(), $1, '', null, 401, 'UNAUTHENTICATED', '192.0.2.7', 'a', 19997, now(), 'z', 1000)`, flooded.ID)
	out = f.succeed("audit", flooded.ID)
	if want := `Z +401 +UNAUTHENTICATED +- +- +192.0.2.7 +1000 +19997 +a +z +\S+Z\n$`; !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("keys audit: output = %q, want %s", out, want)
	}
}
