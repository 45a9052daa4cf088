package main_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// keyRecord is what a command says of a key in JSON.
type keyRecord struct {
	ID, Lineage, Name, State, Tier string
	Allow                          []string
	CreatedAt                      time.Time
	ExpiresAt, RevokedAt           *time.Time
	LastUsedAt                     *time.Time
	LastUsedAddress                *string
}

type keyFamily struct {
	keyRecord
	LineageKeys []keyRecord
}

// answered is a command's answer in JSON, every member of which is known.
func answered[T any](tb testing.TB, i *instance, args ...string) (v T) {
	tb.Helper()
	out := succeed(tb, i.Env, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		tb.Fatalf("%v: %v: %s", args, err, out)
	}
	return v
}

// refused runs a command that must fail and say why.
func refused(tb testing.TB, i *instance, code int, says string, args ...string) {
	tb.Helper()
	if r := command(tb, i.Env, "", args...); r.code != code || !strings.Contains(r.err, says) || r.out != "" {
		tb.Errorf("%v: exit %d, want %d with %q: %s%s", args, r.code, code, says, r.out, r.err)
	}
}

// TestKeys follows a key from its issue to its end.
func TestKeys(t *testing.T) {
	i := startDev(t, t.TempDir(), "--sample", "none")
	if out := succeed(t, i.Env, "", "keys", "list", "--json"); out != "[]\n" {
		t.Errorf("no keys: %s", out)
	}
	t.Run("roll", func(t *testing.T) { checkRoll(t, i) })
	t.Run("roll for people", func(t *testing.T) { checkRollSays(t, i) })
	t.Run("roll refused", func(t *testing.T) { checkRollRefused(t, i) })
	t.Run("last use", func(t *testing.T) { checkLastUse(t, i) })
	t.Run("audit", func(t *testing.T) { checkAudit(t, i) })
}

func checkRoll(t *testing.T, i *instance) {
	t.Helper()
	old := issue(t, i, "--name", "month", "--system", system, "--scopes", "calls:read", "--expires", "720h",
		"--allow", "127.0.0.0/8", "--tier", "premium")
	rolled := answered[struct {
		Key string
		keyRecord
		RolledFrom keyRecord
	}](t, i, "keys", "roll", old.ID, "--overlap", "36h")
	if rolled.ID == old.ID || rolled.Name != "month" || rolled.Tier != "premium" || !reflect.DeepEqual(rolled.Allow, []string{"127.0.0.0/8"}) {
		t.Errorf("%+v", rolled)
	}
	life, overlap := rolled.ExpiresAt.Sub(rolled.CreatedAt), rolled.RolledFrom.ExpiresAt.Sub(rolled.CreatedAt)
	if life.Round(time.Minute) != 720*time.Hour || overlap != 36*time.Hour || rolled.RolledFrom.ID != old.ID {
		t.Errorf("it lives %s, the old one %s more", life, overlap)
	}
	discovery := i.BaseURL + "/customer/phone-systems"
	for _, key := range []string{old.Key, rolled.Key} {
		if status, body := get(t, discovery, key); status != http.StatusOK {
			t.Errorf("%d: %s", status, body)
		}
	}
	for id, state := range map[string]string{old.ID: "active", rolled.ID: "active"} {
		family := answered[keyFamily](t, i, "keys", "show", id)
		if family.ID != id || family.State != state || len(family.LineageKeys) != 2 || family.LineageKeys[0].ID != rolled.ID {
			t.Errorf("%+v", family)
		}
	}
	out := succeed(t, i.Env, "", "keys", "show", old.ID)
	if !regexp.MustCompile(`(?m)^\* +`+old.ID).MatchString(out) || !regexp.MustCompile(`(?m)^ +`+rolled.ID).MatchString(out) {
		t.Errorf("%s", out)
	}
	if out := succeed(t, i.Env, "", "keys", "revoke", old.ID); !strings.Contains(out, rolled.ID+" of the same lineage is still active") {
		t.Errorf("%s", out)
	}
	if status, _ := get(t, discovery, old.Key); status != http.StatusUnauthorized {
		t.Errorf("revoked, it answers %d", status)
	}
	if status, _ := get(t, discovery, rolled.Key); status != http.StatusOK {
		t.Errorf("its successor answers %d", status)
	}
}

// What people are told has the new key once and the old one's end; no other command shows a key.
func checkRollSays(t *testing.T, i *instance) {
	t.Helper()
	old := issue(t, i, "--name", "roll", "--system", system, "--scopes", "calls:read")
	form := regexp.MustCompile(`sk_phones_\w{60,}`)
	out := succeed(t, i.Env, "", "keys", "roll", old.ID)
	keys := form.FindAllString(out, -1)
	if len(keys) != 1 || keys[0] == old.Key || !strings.Contains(out, "The old key, "+old.ID+", is accepted until ") {
		t.Fatalf("%d keys in\n%s", len(keys), form.ReplaceAllString(out, "..."))
	}
	id := regexp.MustCompile(`(?m)^id +(\S+)$`).FindStringSubmatch(out)
	if len(id) != 2 {
		t.Fatalf("no id in\n%s", form.ReplaceAllString(out, "..."))
	}
	out = succeed(t, i.Env, "", "keys", "roll", id[1], "--overlap", "0s", "--expires", "1h")
	if !strings.Contains(out, "The old key, "+id[1]+", has ended.") || !strings.Contains(out, "\nexpires ") {
		t.Errorf("%s", form.ReplaceAllString(out, "..."))
	}
	if status, _ := get(t, i.BaseURL+"/customer/phone-systems", keys[0]); status != http.StatusUnauthorized {
		t.Errorf("without an overlap it answers %d", status)
	}
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", old.ID}, {"show", old.ID, "--json"}, {"audit", old.ID}, {"revoke", old.ID}, {"revoke", old.ID, "--json"},
	} {
		if out := succeed(t, i.Env, "", append([]string{"keys"}, args...)...); form.MatchString(out) {
			t.Errorf("keys %v shows a key", args)
		}
	}
}

func checkRollRefused(t *testing.T, i *instance) {
	t.Helper()
	old := issue(t, i, "--name", "refused", "--system", system, "--scopes", "calls:read")
	nobody := uuid.NewString()
	refused(t, i, 1, "no key has the id "+nobody, "keys", "roll", nobody)
	refused(t, i, 1, "no key has the id "+nobody, "keys", "audit", nobody)
	refused(t, i, 2, "the overlap is not between 0s and 720h", "keys", "roll", old.ID, "--overlap=-1s")
	refused(t, i, 2, "the overlap is not between 0s and 720h", "keys", "roll", old.ID, "--overlap", "721h")
	refused(t, i, 2, "--expires", "keys", "roll", old.ID, "--expires", "0s")
	refused(t, i, 2, "--expires", "keys", "issue", "--name", "x", "--system", system, "--scopes", "calls:read", "--expires", "0s")
	refused(t, i, 2, "--since", "keys", "audit", old.ID, "--since", "0s")
	refused(t, i, 2, "--limit", "keys", "audit", old.ID, "--limit", "10001")
	successor := answered[keyRecord](t, i, "keys", "roll", old.ID)
	refused(t, i, 1, "was rolled already: roll its successor "+successor.ID, "keys", "roll", old.ID)
	succeed(t, i.Env, "", "keys", "revoke", successor.ID)
	refused(t, i, 1, "the key is revoked and cannot be rolled: issue a new one", "keys", "roll", successor.ID)
}

// write changes the instance's database as its projector would.
func write(t *testing.T, i *instance, sql string, arguments ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), i.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = conn.Exec(t.Context(), sql, arguments...); err != nil {
		t.Error(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func checkLastUse(t *testing.T, i *instance) {
	t.Helper()
	key := issue(t, i, "--name", "a\x1b[31m\tname", "--system", system, "--scopes", "calls:read")
	if family := answered[keyFamily](t, i, "keys", "show", key.ID); family.LastUsedAt != nil || family.LastUsedAddress != nil {
		t.Errorf("never used: %+v", family)
	}
	if out := succeed(t, i.Env, "", "keys", "show", key.ID); !strings.Contains(out, "never") || strings.Contains(out, "lineage") {
		t.Errorf("never used:\n%s", out)
	}
	write(t, i, "insert into access.key_use values ($1, '2026-03-02T09:30:00Z', '192.0.2.7')", key.ID)
	family := answered[keyFamily](t, i, "keys", "show", key.ID)
	if family.LastUsedAt == nil || family.LastUsedAt.Year() != 2026 || family.LastUsedAddress == nil || *family.LastUsedAddress != "192.0.2.7" {
		t.Errorf("%+v", family)
	}
	if out := succeed(t, i.Env, "", "keys", "show", key.ID); !strings.Contains(out, "2026-03-02T09:30:00Z from 192.0.2.7") {
		t.Errorf("%s", out)
	}
	out := succeed(t, i.Env, "", "keys", "list")
	if !strings.Contains(out, "LAST USED") || !strings.Contains(out, "2026-03-02T09:30:00Z") || !strings.Contains(out, `"a\x1b[31m\tname"`) {
		t.Errorf("%q", out)
	}
	for _, listed := range answered[[]keyRecord](t, i, "keys", "list") {
		if listed.ID == key.ID && !reflect.DeepEqual(listed, family.keyRecord) {
			t.Errorf("%+v, and shown %+v", listed, family.keyRecord)
		}
	}
}

func checkAudit(t *testing.T, i *instance) {
	t.Helper()
	key := issue(t, i, "--name", "audited", "--system", system, "--scopes", "calls:read")
	if out := succeed(t, i.Env, "", "keys", "audit", key.ID, "--json"); out != "[]\n" {
		t.Errorf("nothing: %s", out)
	}
	if out := succeed(t, i.Env, "", "keys", "audit", key.ID); out != "No requests in the last 1h0m0s. Last used: never.\n" {
		t.Errorf("nothing: %s", out)
	}
	write(t, i, "select access.open_audit_day((now() at time zone 'UTC')::date - i) from generate_series(0, 2) i")
	insert := `insert into access.audit values (now() - make_interval(mins => $1), gen_random_uuid(), $2, 'listCallLogs', $3, $4, $5, $6, $7)`
	write(t, i, insert, 1, key.ID, system, 200, nil, "2001:db8::7", "first")
	write(t, i, insert, 2, key.ID, nil, 404, "NOT_FOUND", nil, "esc\x1b]0;x\x07\n"+"\u202e")
	write(t, i, insert, 90, key.ID, nil, 200, nil, nil, "old")
	type request struct {
		ID, Operation, RequestID     string
		At                           time.Time
		PhoneSystemID, Code, Address *string
		Status                       int
	}
	requests := answered[[]request](t, i, "keys", "audit", key.ID)
	if len(requests) != 2 || requests[0].RequestID != "first" || requests[0].Status != 200 || requests[0].Code != nil ||
		*requests[0].PhoneSystemID != system || *requests[0].Address != "2001:db8::7" || *requests[1].Code != "NOT_FOUND" ||
		requests[1].PhoneSystemID != nil || requests[1].Address != nil || !requests[0].At.After(requests[1].At) {
		t.Errorf("%+v", requests)
	}
	out := succeed(t, i.Env, "", "keys", "audit", key.ID, "--since", "2h")
	for _, want := range []string{
		`TIME +STATUS +CODE +OPERATION +PHONE SYSTEM +ADDRESS +REQUEST ID\n`, `Z +200 +- +listCallLogs +` + system + ` +2001:db8::7 +first\n`,
		`Z +404 +NOT_FOUND +listCallLogs +- +- +"esc\\x1b\]0;x\\a\\n\\u202e"\n`, ` old\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("it lacks %s:\n%q", want, out)
		}
	}
	r := command(t, i.Env, "", "keys", "audit", key.ID, "--limit", "1", "--json")
	var one []request
	if err := json.Unmarshal([]byte(r.out), &one); err != nil || len(one) != 1 || !strings.Contains(r.err, "newest 1; there are more") {
		t.Errorf("%v, %s: %s", err, r.out, r.err)
	}
	if r := command(t, i.Env, "", "keys", "audit", key.ID, "--limit", "2"); r.err != "" {
		t.Errorf("all are listed: %s", r.err)
	}
}
