package readapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callboard/readapi/encode"
	"callboard/readapi/limit"
)

// write sends the response and returns its status. The response to HEAD is that to GET without the body.
func (s *service) write(w http.ResponseWriter, r *http.Request, x *exchange, out *reply, err error) int {
	if clientGone(r, err) {
		return statusClientGone
	}

	header := w.Header()
	header.Set(requestIDHeader, x.requestID)
	header.Set("Vary", "X-API-Key, Authorization")
	header.Set("X-Content-Type-Options", "nosniff")
	setQuotaHeaders(header, x.decision)

	// Nothing of the body was sent, so a problem document replaces what a handler has made.
	status := http.StatusOK
	if err != nil {
		p := problemOf(err)
		status = p.code.info().status
		out.body = p.append(out.body[:0], x.requestID)
		setProblemHeaders(header, p)
	} else {
		setReplyHeaders(header, out, s.now())

		// A client that has the body gets the headers alone.
		if out.hasETag && matches(r.Header["If-None-Match"], header.Get("ETag")) {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}

		header.Set("Content-Type", "application/json")
	}

	header.Set("Content-Length", strconv.Itoa(len(out.body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		x.cut = writeBody(w, out.body, s.slowGrace)
	}
	return status
}

// setReplyHeaders sets the headers of a 200. A watermark that is ahead of the reader's clock says nothing about the
// time between.
func setReplyHeaders(header http.Header, out *reply, now time.Time) {
	header.Set("Cache-Control", "private, no-cache")
	if out.noStore {
		header.Set("Cache-Control", "no-store")
	}

	if through := out.completeThrough; !through.IsZero() {
		if through.After(now) {
			through = now
		}
		header.Set("Data-Complete-Through", string(encode.Time(nil, through)))
	}

	if out.negotiated {
		header.Set("Vary", header.Get("Vary")+", Accept-Encoding")
	}
	if out.coding != "" {
		header.Set("Content-Encoding", out.coding)
	}

	setRetryAfter(header, out.retryAfter)
	if out.next != "" {
		header.Set("Link", "<"+out.next+`>; rel="next"`)
	}
	if out.hasETag {
		header.Set("ETag", entityTag(out.body[out.etagSkip:]))
	}
}

// setQuotaHeaders does nothing if the request failed before its quota was checked.
func setQuotaHeaders(header http.Header, decision *limit.Decision) {
	if decision == nil {
		return
	}
	header.Set("RateLimit-Policy", decision.RateLimitPolicy())
	if quota, known := decision.RateLimit(); known {
		header.Set("RateLimit", quota)
	}
}

func setProblemHeaders(header http.Header, p *problem) {
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if p.code == unauthenticated {
		header.Set("WWW-Authenticate", `Bearer realm="callboard"`)
	}
	if p.code == methodNotAllowed {
		header.Set("Allow", "GET, HEAD")
	}
	setRetryAfter(header, p.retryAfter)
}

// setRetryAfter does nothing for zero seconds.
func setRetryAfter(header http.Header, seconds int) {
	if seconds > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// entityTag is a strong ETag: bodies with equal tags are equal.
func entityTag(body []byte) string {
	digest := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(digest[:16]) + `"`
}

// matches reports whether the values of If-None-Match have the tag, in the weak comparison. A tag has its quotes and is
// a digest, so it is no part of another tag.
func matches(values []string, tag string) bool {
	return slices.ContainsFunc(values, func(value string) bool {
		return strings.TrimSpace(value) == "*" || strings.Contains(value, tag)
	})
}
