package access

import (
	"net/http"
	"strings"
)

// Kind classifies a credential by its text alone.
type Kind int

// The kinds of credential.
const (
	Malformed       Kind = iota // no credential, or a text that was never issued as a key
	TenantKey                   // a well-formed key; [Authorizer.Authorize] decides whether it is live
	OtherCredential             // a session token, a publishable key, a key of another family
)

// Credential is the credential of a request. It does not print its key.
type Credential struct {
	Kind Kind
	Key  Key // of a TenantKey
}

// CredentialOf returns the credential in a request's headers. X-API-Key takes precedence over Authorization: Bearer. A
// header that is sent twice is malformed, because a proxy may have checked only one of the values.
func CredentialOf(header http.Header) Credential {
	switch values := header["X-Api-Key"]; len(values) {
	case 0:
		return Parse(bearer(header["Authorization"]))
	case 1:
		return Parse(values[0])
	}
	return Credential{}
}

// bearer returns the token of an Authorization header with the scheme Bearer, and an empty string for any other.
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

// Parse classifies a credential's text.
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
