package access

import "github.com/google/uuid"

// Verdict is how a request is refused before anything is read for it.
type Verdict int

// The verdicts.
const (
	Unauthenticated       Verdict = iota + 1 // no live key
	CredentialNotAccepted                    // a credential, but none of a tenant
	AddressNotAllowed                        // a live key, from outside its allowlist
)

// DeniedError is a refusal by [Authorizer.Authorize]. Its reason is for the log and is never sent.
type DeniedError struct {
	Verdict       Verdict
	Reason        string
	KeyID         uuid.UUID // of the key's row, where one was found
	Authenticated bool      // the request held that key: its secret was right
}

// Error is the reason.
func (d *DeniedError) Error() string { return "denied: " + d.Reason }
