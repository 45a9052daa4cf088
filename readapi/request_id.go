package readapi

import (
	"net/http"
	"regexp"

	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the inbound one if it is well formed, else a new one.
func requestID(header http.Header) string {
	if id := header.Get(requestIDHeader); requestIDForm.MatchString(id) {
		return id
	}
	return uuid.NewString()
}
