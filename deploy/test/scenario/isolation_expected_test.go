package scenario_test

import (
	"hash/crc32"
	"math/big"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// credential is what a request presents, with the properties that it was issued with.
type credential struct {
	name     string
	text     string // of X-API-Key; without the header if empty
	refusal  string // the outcome of every request; empty for a valid key
	covers   []tenantKind
	scopes   []access.Scope
	narrowed bool // to the calls of an extension
}

func (c credential) header() http.Header {
	if c.text == "" {
		return http.Header{}
	}
	return http.Header{"X-Api-Key": {c.text}}
}

// credentials returns credentials of every kind.
func (f *isolationFixture) credentials() []credential {
	return slices.Concat(f.grantedKeys(), f.restrictedKeys(), f.invalidKeys(), otherCredentials())
}

// organizationCredential issues a key on the organization.
func (f *isolationFixture) organizationCredential(name string, changes ...func(*access.KeySpec)) credential {
	return f.newCredential(name, access.Grant{Kind: access.GrantOrganization, ID: f.organization}, []tenantKind{tenantOwn, tenantSameGroup, tenantSameOrganization}, changes...)
}

func (f *isolationFixture) newCredential(name string, grant access.Grant, covers []tenantKind, changes ...func(*access.KeySpec)) credential {
	f.Helper()
	request := access.KeySpec{Grant: grant, Scopes: access.Scopes()}
	for _, change := range changes {
		change(&request)
	}
	return credential{
		name: name, text: f.issueKey(request).Reveal(), covers: covers, scopes: request.Scopes, narrowed: request.OwnExtension.Valid,
	}
}

// grantedKeys issues keys with every kind of grant.
func (f *isolationFixture) grantedKeys() []credential {
	system := func(of tenantKind) access.Grant {
		return access.Grant{Kind: access.GrantSystem, ID: f.tenants[of].system()}
	}
	return []credential{
		f.newCredential("of the system", system(tenantOwn), []tenantKind{tenantOwn}),
		f.newCredential("of the group", access.Grant{Kind: access.GrantGroup, ID: f.group}, []tenantKind{tenantOwn, tenantSameGroup}),
		f.organizationCredential("of the organization"),
		f.newCredential("of another organization", access.Grant{Kind: access.GrantOrganization, ID: f.otherOrganization}, []tenantKind{tenantOtherOrganization}),
		f.newCredential("of another group", access.Grant{Kind: access.GrantGroup, ID: f.otherGroup}, []tenantKind{tenantChildOrganization, tenantOtherOrganization}),
		f.newCredential("of a deleted system", system(tenantDeleted), nil),
		f.newCredential("of a system without an event", system(tenantUnannounced), nil),
		f.newCredential("of an unknown system", system(tenantUnknown), nil),
	}
}

// targets returns the targets of an operation that the credential requests. A key without one scope differs from
// the organization's key in that scope's operations only, so one target is enough for the others.
func (c credential) targets(o operation) []target {
	if lacks := len(c.scopes) == len(access.Scopes())-1; lacks && c.unlocks(o) {
		return targets(o)[:1]
	}
	return targets(o)
}

// restrictedKeys issues keys that are narrowed, lack a scope, or are for other addresses.
func (f *isolationFixture) restrictedKeys() []credential {
	list := []credential{f.organizationCredential("narrowed to an extension", func(request *access.KeySpec) {
		request.OwnExtension = uuid.NullUUID{UUID: f.tenants[tenantOwn].id(extensionObject), Valid: true}
	})}
	for _, scope := range access.Scopes() {
		list = append(list, f.organizationCredential("without "+string(scope), func(request *access.KeySpec) {
			request.Scopes = slices.DeleteFunc(access.Scopes(), func(s access.Scope) bool { return s == scope })
		}))
	}
	elsewhere := f.organizationCredential("for other addresses", func(request *access.KeySpec) {
		request.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	})
	elsewhere.refusal = "403 ADDRESS_NOT_ALLOWED"
	return append(list, elsewhere)
}

// invalidKeys returns keys that are no longer valid, and texts that are no keys.
func (f *isolationFixture) invalidKeys() []credential {
	f.Helper()
	expired, revoked, rolled := f.organizationCredential("expired"), f.organizationCredential("revoked"), f.organizationCredential("rolled")
	f.Exec("update access.key set expires_at = now() where id = $1", f.keyID(expired))
	f.revoke(f.keyID(revoked))
	if _, err := f.registry.Roll(f.Context(), f.keyID(rolled), access.Roll{}); err != nil {
		f.Fatal(err)
	}
	list := []credential{
		expired, revoked, rolled,
		{name: "forged", text: forged(f.grantKey(access.GrantOrganization, f.organization))},
		{name: "unknown", text: access.NewKey().Reveal()}, {name: "none"}, {name: "malformed", text: "sk_phones_x_y"}, {name: "noise", text: "noise"},
	}
	for i := range list {
		list[i].refusal = "401 UNAUTHENTICATED"
	}
	return list
}

// keyID returns the ID of an issued key.
func (f *isolationFixture) keyID(c credential) uuid.UUID {
	f.Helper()
	return schematest.QueryOne[uuid.UUID](f, f.Pool, "select id from access.key where short = $1", access.Parse(c.text).Key.Short())
}

// Credentials that are no API keys, and their outcome.
const (
	sessionToken   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	publishableKey = "pk_phones_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	platformKey    = "sk_platform_Zm9vYmFyYmF6_Zm9vYmFyYmF6Zm9vYmFyYmF6"
	notAccepted    = "403 CREDENTIAL_NOT_ACCEPTED"
)

// forged returns a well-formed key with the public part of a live key and another secret.
func forged(live access.Key) string {
	other := access.NewKey()
	text := strings.Replace(other.Reveal(), other.Short(), live.Short(), 1)
	body := text[:len(text)-6]
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(sum)) + sum
}

func otherCredentials() []credential {
	return []credential{
		{name: "publishable key", text: publishableKey, refusal: notAccepted},
		{name: "platform key", text: platformKey, refusal: notAccepted},
		{name: "session token", text: sessionToken, refusal: notAccepted},
	}
}

// target is the phone system and the object of a request's path. Fields that the path doesn't have are empty.
type target struct {
	system, object tenantKind
	ofVoicemail    bool // the recording is a voicemail's
}

// targets returns the targets of an operation: the objects of every tenant, in its own phone system and in the
// granted one.
func targets(o operation) []target {
	variables := pathVariable.FindAllString(o.path, -1)
	switch len(variables) {
	case 0:
		return []target{{}}
	case 1:
		var list []target
		for _, system := range tenantKinds() {
			list = append(list, target{system: system})
		}
		return list
	}
	var list []target
	for _, of := range tenantKinds() {
		list = append(list, target{system: of, object: of})
		if of != tenantOwn {
			list = append(list, target{system: tenantOwn, object: of})
		}
		if variables[1] == "{recordingSid}" && of != malformedID {
			list = append(list, target{system: tenantOwn, object: of, ofVoicemail: true})
		}
	}
	return append(list, target{system: tenantOwn, object: deletedObject}, target{system: tenantSameGroup, object: malformedID}, target{system: tenantOtherOrganization, object: malformedID})
}

// path returns the path of a request for a target.
func (f *isolationFixture) path(o operation, p target) string {
	path := pathVariable.ReplaceAllStringFunc(o.path, func(variable string) string {
		of := p.object
		if variable == "{phoneSystemId}" {
			of = p.system
		}
		switch {
		case of == malformedID:
			return "x"
		case of == deletedObject:
			return f.tenants[tenantOwn].object(variable, 1)
		case p.ofVoicemail && variable == "{recordingSid}":
			return f.tenants[of].sid(voicemailRecording)
		}
		return f.tenants[of].object(variable, 0)
	})
	if o.id == "listCallLogReports" {
		path += "?" + wholeWindow
	}
	return path
}

// expected returns the outcome that the contract defines (Authentication; the order of checks).
func (c credential) expected(o operation, p target) string {
	voicemail := p.ofVoicemail && o.id == "getCallRecordingUrl"
	switch {
	case c.refusal != "":
		return c.refusal
	case p.system == malformedID || p.object == malformedID:
		return "400 VALIDATION_FAILED" + malformedVariables(o, p)
	case !c.unlocks(o):
		return "403 INSUFFICIENT_SCOPE"
	case p.system != "" && !slices.Contains(c.covers, p.system):
		return "404 NOT_FOUND"
	case p.object != "" && p.object != p.system, p.object != "" && !c.sees(o, p), p.ofVoicemail && !voicemail:
		return "404 NOT_FOUND"
	case voicemail && !slices.Contains(c.scopes, "voicemails:read"):
		return "403 INSUFFICIENT_SCOPE"
	}
	return "200"
}

// malformedVariables returns the errors of path variables that are no identifiers.
func malformedVariables(o operation, p target) string {
	var text strings.Builder
	for i, variable := range pathVariable.FindAllString(o.path, -1) {
		if []tenantKind{p.system, p.object}[i] == malformedID {
			text.WriteString(" /" + strings.Trim(variable, "{}") + " INVALID_FORMAT")
		}
	}
	return text.String()
}

// unlocks reports whether the key has the operation's scope. Reports need it without narrowing.
func (c credential) unlocks(o operation) bool {
	if isReport(o) && c.narrowed {
		return false
	}
	return o.scope == "" || slices.Contains(c.scopes, o.scope)
}

// sees reports whether the key reads a covered phone system's rows. A narrowed key reads the call that its
// extension answered.
func (c credential) sees(o operation, p target) bool {
	return !c.narrowed || o.scope != "calls:read" || p.system == tenantOwn
}
