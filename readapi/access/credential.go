package access

import (
	"net/http"
	"strings"
)

// Kind is what a credential is, as far as its text tells.
type Kind int

// The kinds of credential.
const (
	Malformed       Kind = iota // nothing, or no key that was ever issued
	TenantKey                   // well formed; whether it is live, [Authorizer.Authorize] decides
	OtherCredential             // a session token, a publishable key, a key of another family
)

// Credential is what a request presents. Like the key in it, it does not print.
type Credential struct {
	Kind Kind
	Key  Key // of a TenantKey
}

// CredentialOf finds the credential in a request's headers. X-API-Key, where present, wins over Authorization: Bearer. A
// header that is there twice is malformed, whatever its values: which of them a proxy in between has looked at can't be known.
func CredentialOf(header http.Header) Credential {
	switch values := header["X-Api-Key"]; len(values) {
	case 0:
		return Parse(bearer(header["Authorization"]))
	case 1:
		return Parse(values[0])
	}
	return Credential{}
}

// bearer is the token of an Authorization header with the scheme Bearer, and empty for any other.
func bearer(values []string) string {
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

// Parse tells what text is.
func Parse(text string) Credential {
	switch {
	case strings.HasPrefix(text, KeyPrefix):
		if wellFormed(text) {
			return Credential{Kind: TenantKey, Key: keyOf(text)}
		}
		return Credential{}
	case strings.HasPrefix(text, "sk_"), strings.HasPrefix(text, "pk_"), isSessionToken(text):
		return Credential{Kind: OtherCredential}
	}
	return Credential{}
}

// isSessionToken reports whether text has a session token's three dot-separated parts.
func isSessionToken(text string) bool { return strings.Count(text, ".") == 2 }
