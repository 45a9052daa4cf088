package scenario_test

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// unlocks checks that a key with one scope reads these operations, discovery, and no others.
func unlocks(scope access.Scope, unlocked ...string) func(*fixture) {
	return func(f *fixture) {
		key := f.keyWithScopes(scope)
		for _, o := range operations() {
			want := "403 INSUFFICIENT_SCOPE"
			if slices.Contains(unlocked, o.id) || o.scope == "" {
				want = "200"
			}
			f.checkOutcome(o.id, f.get(key, f.example(o)), want)
		}
	}
}

func topologyScopes(f *fixture) {
	for scope, unlocked := range map[access.Scope][]string{
		"phones:read":        {"listPhones", "getPhone"},
		"phone-numbers:read": {"listPhoneNumbers", "getPhoneNumber"},
		"extensions:read":    {"listExtensions", "getExtension"},
		"agent-configs:read": {"listAgentConfigs", "getAgentConfig"},
		"call-groups:read":   {"listCallGroups", "getCallGroup"},
		"call-menus:read":    {"listCallMenus", "getCallMenu"},
	} {
		unlocks(scope, unlocked...)(f)
	}
}

// issuable returns the contract's scopes.
func issuable() []access.Scope {
	return []access.Scope{
		"calls:read", "recordings:read", "voicemails:read", "phones:read", "phone-numbers:read", "extensions:read", "agent-configs:read",
		"call-groups:read", "call-menus:read",
	}
}

// onlyTheNineScopes checks that the contract's scopes are issued, and that all others are refused: alone and beside one that is issued.
func onlyTheNineScopes(f *fixture) {
	f.equalJSON("the scopes", access.Scopes(), issuable())
	refused := []access.Scope{
		"calls", "read", "calls:", ":read", "CALLS:read", "calls:read ", "call-logs:read", "reports:read", "phone-systems:read", "", "*", "*:read", "*:*",
		"tenants:read", "organizations:read", "platform:read", "admin:read", "all:read", "calls:read:all", "global:calls:read", "keys:read", "keys:write", "api-keys:write",
	}
	for _, scope := range issuable() {
		f.expectOutcome(f.keyWithScopes(scope), "", "200")
		resource := strings.TrimSuffix(string(scope), "read")
		for _, action := range []string{"write", "delete", "manage", "*"} {
			refused = append(refused, access.Scope(resource+action))
		}
	}
	for _, area := range unapprovedAreas() {
		refused = append(refused, access.Scope(area+":read"), access.Scope(area+":write"))
	}
	for _, scope := range refused {
		f.refusesKeys(
			func(r *access.KeySpec) { r.Scopes = []access.Scope{scope} },
			func(r *access.KeySpec) { r.Scopes = append(r.Scopes, scope) },
		)
	}
	f.refusesKeys(func(r *access.KeySpec) { r.Scopes = nil })
}

// unapprovedAreas returns the resource areas that the contract names as not published.
func unapprovedAreas() []string {
	return []string{
		"messages", "contacts", "campaigns", "number-insertion", "number-insertions", "notifications", "webhooks", "recording-exemptions", "diagnostics", "users",
	}
}

// unapprovedPaths checks that the areas have no path.
func unapprovedPaths(f *fixture) {
	for _, area := range unapprovedAreas() {
		f.expectOutcome(f.key, f.harbourPath("/"+area), "404 NOT_FOUND")
	}
}

// fixedScopes requests every operation twice, and then compares the key's scopes.
func fixedScopes(f *fixture) {
	scopes := []access.Scope{"calls:read", "voicemails:read"}
	issued := f.issue(access.KeySpec{Grant: f.harbourGrant(), Scopes: scopes})
	for range 2 {
		for _, o := range operations() {
			want := "403 INSUFFICIENT_SCOPE"
			if o.scope == "" || slices.Contains(scopes, o.scope) {
				want = "200"
			}
			f.checkOutcome(o.id, f.get(issued.Key, f.example(o)), want)
		}
	}
	shown, err := f.registry.Show(f.Context(), issued.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.equalJSON("the scopes", shown.Scopes, scopes)
}

// ownCalls checks what narrowed keys read. The front extension answered the full call, and the back one dialled it.
func ownCalls(f *fixture) {
	for _, extension := range []uuid.UUID{f.front, f.back} {
		key := f.narrowed(extension)
		f.equalStrings("calls", f.get(key, f.harbourPath("/call-logs")).ids(), []string{f.full.String()})
		f.expectJSON(key, f.harbourPath("/call-logs"), "total", 1)
		f.equalStrings("calls with its sid, which the leg shares", f.get(key, f.harbourPath("/call-logs?callSid="+fullSid)).ids(), []string{f.full.String()})
		f.equalStrings("calls with another sid", f.get(key, f.harbourPath("/call-logs?callSid="+bareSid)).ids(), nil)
		f.equalStrings("analyses", f.get(key, f.harbourPath("/call-analyses")).ids(), []string{f.analyzed.String()})
		f.expectOutcome(key, f.harbourPath("/call-logs/"+f.full.String()), "200")
		f.expectOutcome(key, f.harbourPath("/call-analyses/"+f.analyzed.String()), "200")
		for _, path := range []string{"/call-logs/" + f.bare.String(), "/call-logs/" + f.leg.String(), "/call-analyses/" + f.waiting.String()} {
			f.expectOutcome(key, f.harbourPath(path), "404 NOT_FOUND")
		}
	}
	key := f.narrowed(uuid.New())
	f.equalStrings("calls of an unknown extension", f.get(key, f.harbourPath("/call-logs")).ids(), nil)
	f.expectOutcome(key, f.harbourPath("/call-logs/"+f.full.String()), "404 NOT_FOUND")
}

// voicemailAudio checks that a voicemail's signed URL needs both scopes, and a call's only one.
func voicemailAudio(f *fixture) {
	ofVoicemail, ofCall := f.harbourPath("/recordings/"+messageRecording+"/url"), f.harbourPath("/recordings/"+fullRecording+"/url")
	for _, c := range []struct {
		scopes              []access.Scope
		voicemail, callWant string
	}{
		{[]access.Scope{"recordings:read", "voicemails:read"}, "200", "200"},
		{[]access.Scope{"recordings:read"}, "403 INSUFFICIENT_SCOPE", "200"},
		{[]access.Scope{"voicemails:read"}, "403 INSUFFICIENT_SCOPE", "403 INSUFFICIENT_SCOPE"},
		{otherScopes("voicemails:read"), "403 INSUFFICIENT_SCOPE", "200"},
	} {
		key := f.keyWithScopes(c.scopes...)
		f.expectOutcome(key, ofVoicemail, c.voicemail)
		f.expectOutcome(key, ofCall, c.callWant)
	}
}

// namesInReports reads reports with a key that has calls:read only.
func namesInReports(f *fixture) {
	key := f.keyWithScopes("calls:read")
	row := f.reportRowOf(key, f.harbour, f.full)
	f.equalJSON("the call group", row["callGroup"], fields{"id": f.desk, "name": "Reception", "number": "200"})
	f.equalJSON("the extension that answered", row["answeredByExtension"], fields{"id": f.front, "name": "Front desk", "number": "101"})
	f.equalJSON("the extension that called", row["fromExtension"], fields{"id": f.back, "name": "Back office", "number": "102"})
	snapshot := f.mustGet(key, f.harbourPath(dimensionsPath))
	f.equalJSON("the call groups", column(snapshot["callGroups"], "name"), []any{"Reception"})
	f.equalJSON("the extensions", column(snapshot["extensions"], "name"), []any{"Front desk", "Back office"})
	f.expectOutcome(key, f.harbourPath("/call-groups/"+f.desk.String()), "403 INSUFFICIENT_SCOPE")
	f.expectOutcome(key, f.harbourPath("/extensions/"+f.front.String()), "403 INSUFFICIENT_SCOPE")
}

// referencesGrantNothing follows references with a key that has the scope of phones only.
func referencesGrantNothing(f *fixture) {
	key := f.keyWithScopes("phones:read")
	phone := f.mustGet(key, f.harbourPath("/phones/"+f.handset.String()))
	f.equalJSON("the reference", phone["extension"], f.reference("extension", f.front))
	f.expectOutcome(key, f.harbourPath("/extensions/"+f.front.String()), "403 INSUFFICIENT_SCOPE")
	f.equalJSON("the parent", phone["parentPhone"], f.reference("phone", f.base))
	f.expectOutcome(key, f.harbourPath("/phones/"+f.base.String()), "200")
	f.expectOutcome(f.systemKey(f.annex), f.harbourPath("/extensions/"+f.front.String()), "404 NOT_FOUND")
}

// noAudioInReports searches for audio and its location in the answers of report operations.
func noAudioInReports(f *fixture) {
	for _, path := range []string{"/call-log-reports?" + wholeWindow, "/call-log-reports?" + wholeWindow + "&includeTranscripts=true", dimensionsPath} {
		a := f.get(f.key, f.harbourPath(path))
		if a.status != 200 {
			f.Fatalf("%s: outcome = %s, want 200", path, a.outcome())
		}
		for _, trace := range []string{"://", ".wav", "audio", "a.wav", "expiresAt", `"url"`, fullAudio} {
			if strings.Contains(a.text, trace) {
				f.Errorf("%s has %q: %s", path, trace, a.text)
			}
		}
	}
}
