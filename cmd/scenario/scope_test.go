package scenario_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// unlocks proves that a key with one scope alone reads these operations and no others but discovery.
func unlocks(scope access.Scope, unlocked ...string) func(*world) {
	return func(w *world) {
		key := w.scoped(scope)
		for _, o := range operations() {
			want := "403 INSUFFICIENT_SCOPE"
			if slices.Contains(unlocked, o.id) || o.scope == "" {
				want = "200"
			}
			w.judge(o.id, w.get(key, w.example(o)), want)
		}
	}
}

func topologyScopes(w *world) {
	for scope, unlocked := range map[access.Scope][]string{
		"phones:read":        {"listPhones", "getPhone"},
		"phone-numbers:read": {"listPhoneNumbers", "getPhoneNumber"},
		"extensions:read":    {"listExtensions", "getExtension"},
		"agent-configs:read": {"listAgentConfigs", "getAgentConfig"},
		"call-groups:read":   {"listCallGroups", "getCallGroup"},
		"call-menus:read":    {"listCallMenus", "getCallMenu"},
	} {
		unlocks(scope, unlocked...)(w)
	}
}

// issuable are the contract's scopes.
func issuable() []access.Scope {
	return []access.Scope{
		"calls:read", "recordings:read", "voicemails:read", "phones:read", "phone-numbers:read", "extensions:read", "agent-configs:read",
		"call-groups:read", "call-menus:read",
	}
}

func onlyTheNineScopes(w *world) {
	for _, scope := range issuable() {
		w.judged(w.scoped(scope), "", "200")
	}
	if got := access.Scopes(); !slices.Equal(got, issuable()) {
		w.t.Errorf("the scopes are %v", got)
	}
	refusesScopes("calls", "read", "calls:", ":read", "CALLS:read", "calls:read ", "call-logs:read", "reports:read", "phone-systems:read", "", "*")(w)
	refusedKey(func(r *access.Request) { r.Scopes = nil })(w)
}

// refusesScopes proves that none of these is issued, alone or beside one that is.
func refusesScopes(scopes ...access.Scope) func(*world) {
	return func(w *world) {
		for _, scope := range scopes {
			refusedKey(
				func(r *access.Request) { r.Scopes = []access.Scope{scope} },
				func(r *access.Request) { r.Scopes = append(r.Scopes, scope) },
			)(w)
		}
	}
}

func noWriteScopes(w *world) {
	for _, scope := range issuable() {
		resource := strings.TrimSuffix(string(scope), "read")
		refusesScopes(access.Scope(resource+"write"), access.Scope(resource+"delete"), access.Scope(resource+"manage"), access.Scope(resource+"*"))(w)
	}
}

func noScopesAcrossTenants(w *world) {
	refusesScopes("*:read", "*:*", "tenants:read", "organizations:read", "platform:read", "admin:read", "all:read", "calls:read:all", "global:calls:read")(w)
}

// unapproved are the resource areas that the contract names as not published.
func unapprovedScopes(w *world) {
	for _, area := range []string{
		"messages", "contacts", "campaigns", "number-insertion", "number-insertions", "notifications", "webhooks", "recording-exemptions", "diagnostics", "users",
	} {
		refusesScopes(access.Scope(area+":read"), access.Scope(area+":write"))(w)
		w.judged(w.key, w.home("/"+area), "404 NOT_FOUND")
	}
	refusesScopes("keys:read", "keys:write", "api-keys:write")(w)
}

// notWidened holds a key with all the scopes that there were before the topology operations against these.
func notWidened(w *world) {
	key := w.scoped("calls:read", "recordings:read", "voicemails:read")
	for _, o := range operations() {
		want := "200"
		if slices.Contains(issuable()[3:], o.scope) {
			want = "403 INSUFFICIENT_SCOPE"
		}
		w.judged(key, w.example(o), want)
	}
}

var scopeForm = regexp.MustCompile(`^[a-z]+(-[a-z]+)*:[a-z]+$`)

// fixedScopes holds a key's scopes against those it was issued with, after every operation was tried with it.
func fixedScopes(w *world) {
	issued, err := w.registry.Issue(w.t.Context(), access.Request{
		Name: "fixed", Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, Scopes: []access.Scope{"calls:read", "voicemails:read"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for range 2 {
		for _, o := range operations() {
			want := "403 INSUFFICIENT_SCOPE"
			if o.scope == "" || slices.Contains(issued.Scopes, o.scope) {
				want = "200"
			}
			w.judge(o.id, w.get(issued.Key, w.example(o)), want)
		}
	}
	shown, err := w.registry.Show(w.t.Context(), issued.ID)
	if err != nil || !slices.Equal(shown.Scopes, []access.Scope{"calls:read", "voicemails:read"}) {
		w.t.Errorf("scopes are %v, %v", shown.Scopes, err)
	}
	for _, scope := range access.Scopes() {
		if !scopeForm.MatchString(string(scope)) {
			w.t.Errorf("%q is no resource:action", scope)
		}
	}
}

// narrowed is a key whose calls:read is narrowed to an extension's own calls.
func (w *world) narrowed(extension uuid.UUID) access.Key {
	w.t.Helper()
	return w.stage.key(access.Request{
		Grant: access.Grant{Kind: access.GrantSystem, ID: w.harbour}, OwnExtension: uuid.NullUUID{UUID: extension, Valid: true},
	})
}

// ownCalls holds what narrowed keys see: the full call was answered by the front extension and dialled from the back one.
func ownCalls(w *world) {
	for _, extension := range []uuid.UUID{w.front, w.back} {
		key := w.narrowed(extension)
		w.same("calls", w.get(key, w.home("/call-logs")).ids(), []string{w.full.String()})
		w.expect(key, w.home("/call-logs"), 200, "total=1", "totalPages=1")
		w.same("of its sid, which its leg shares", w.get(key, w.home("/call-logs?callSid="+fullSid)).ids(), []string{w.full.String()})
		w.same("of another's sid", w.get(key, w.home("/call-logs?callSid="+bareSid)).ids(), nil)
		w.same("analyses", w.get(key, w.home("/call-analyses")).ids(), []string{w.analyzed.String()})
		w.judged(key, w.home("/call-logs/"+w.full.String()), "200")
		w.judged(key, w.home("/call-analyses/"+w.analyzed.String()), "200")
		for _, foreign := range []string{"/call-logs/" + w.bare.String(), "/call-logs/" + w.leg.String(), "/call-analyses/" + w.waiting.String()} {
			w.judged(key, w.home(foreign), "404 NOT_FOUND")
		}
	}
	key := w.narrowed(uuid.New())
	w.same("of an extension that is not there", w.get(key, w.home("/call-logs")).ids(), nil)
	w.judged(key, w.home("/call-logs/"+w.full.String()), "404 NOT_FOUND")
}

// narrowedReports asks for reports while somebody else holds every table that has reporting data.
func narrowedReports(w *world) {
	key := w.narrowed(w.front)
	ctx := context.Background()
	holder, err := w.pool.Begin(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(ctx) }()
	for _, table := range []string{"call_log", "transcript_text", "reference_count", "call_group", "representative", "classification"} {
		if _, err := holder.Exec(ctx, fmt.Sprintf("lock table projection.%s in access exclusive mode", table)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, o := range operations() {
		if isReport(o) {
			w.judged(key, w.example(o), "403 INSUFFICIENT_SCOPE")
		}
	}
}

// voicemailSounds need both scopes, and calls' only the one.
func voicemailSounds(w *world) {
	sound, callSound := w.home("/recordings/"+voiceSound+"/url"), w.home("/recordings/"+fullSound+"/url")
	for _, c := range []struct {
		scopes                 []access.Scope
		ofVoicemail, ofTheCall string
	}{
		{[]access.Scope{"recordings:read", "voicemails:read"}, "200", "200"},
		{[]access.Scope{"recordings:read"}, "403 INSUFFICIENT_SCOPE", "200"},
		{[]access.Scope{"voicemails:read"}, "403 INSUFFICIENT_SCOPE", "403 INSUFFICIENT_SCOPE"},
		{otherScopes("voicemails:read"), "403 INSUFFICIENT_SCOPE", "200"},
	} {
		key := w.scoped(c.scopes...)
		w.judged(key, sound, c.ofVoicemail)
		w.judged(key, callSound, c.ofTheCall)
	}
}

// namesInReports are read with calls:read alone.
func namesInReports(w *world) {
	key := w.scoped("calls:read")
	row := w.report(key, w.harbour, w.full)
	w.is("the call group", row["callGroup"], fields{"id": w.desk, "name": "Reception", "number": "200"})
	w.is("who answered", row["answeredByExtension"], fields{"id": w.front, "name": "Front desk", "number": "101"})
	w.is("who called", row["fromExtension"], fields{"id": w.back, "name": "Back office", "number": "102"})
	snapshot := w.read(key, w.home(dimensionsPath))
	w.is("the call groups", column(snapshot["callGroups"], "name"), []any{"Reception"})
	w.is("the extensions", column(snapshot["extensions"], "name"), []any{"Front desk", "Back office"})
	w.judged(key, w.home("/call-groups/"+w.desk.String()), "403 INSUFFICIENT_SCOPE")
	w.judged(key, w.home("/extensions/"+w.front.String()), "403 INSUFFICIENT_SCOPE")
}

// referencesGrantNothing follows references with a key that has the scope of what holds them alone.
func referencesGrantNothing(w *world) {
	key := w.scoped("phones:read")
	phone := w.read(key, w.home("/phones/"+w.handset.String()))
	w.is("the reference", phone["extension"], w.reference("extension", w.front))
	w.judged(key, w.home("/extensions/"+w.front.String()), "403 INSUFFICIENT_SCOPE")
	w.is("the parent", phone["parentPhone"], w.reference("phone", w.base))
	w.judged(key, w.home("/phones/"+w.base.String()), "200")
	elsewhere := w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantSystem, ID: w.annex}})
	w.judged(elsewhere, w.home("/extensions/"+w.front.String()), "404 NOT_FOUND")
}

// noSoundInReports looks for where a sound is, or might be, in everything that reports return.
func noSoundInReports(w *world) {
	for _, path := range []string{"/call-log-reports?" + march, "/call-log-reports?" + march + "&includeTranscripts=true", dimensionsPath} {
		a := w.get(w.key, w.home(path))
		if a.status != 200 {
			w.t.Fatalf("%s: %s", path, a.verdict())
		}
		for _, trace := range []string{"://", ".wav", "audio", "a.wav", "expiresAt", `"url"`, fullAudio} {
			if strings.Contains(a.text, trace) {
				w.t.Errorf("%s: %q is in %s", path, trace, a.text)
			}
		}
	}
}

// keysAreRead tries to change keys as the one that serves the API.
func keysAreRead(w *world) {
	keysAreTheOperators(w)
	issued := w.issue(time.Time{})
	for _, statement := range []string{
		"update access.key set scopes = '{}' where id = $1", "update access.key set revoked_at = now() where id = $1", "delete from access.key where id = $1",
	} {
		tx, err := w.pool.Begin(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := tx.Exec(w.t.Context(), "set local role callboard_reader"); err != nil {
			w.t.Fatal(err)
		}
		if _, err := tx.Exec(w.t.Context(), statement, issued.ID); err == nil || !strings.Contains(err.Error(), "permission denied") {
			w.t.Errorf("%s: %v", statement, err)
		}
		_ = tx.Rollback(w.t.Context())
	}
	w.judged(issued.Key, "", "200")
}
