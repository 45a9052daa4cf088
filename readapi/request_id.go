package readapi

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

const requestIDHeader = "X-Request-Id"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the inbound one if it is well formed, else a new one. Request ids are logged, recorded and sent back, so one with a
// key in it, put into the wrong header by mistake, is not kept.
func requestID(header http.Header) string {
	if id := header.Get(requestIDHeader); requestIDForm.MatchString(id) && !strings.Contains(id, access.KeyPrefix) {
		return id
	}
	return uuid.NewString()
}
