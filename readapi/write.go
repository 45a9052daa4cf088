package readapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"

	"callboard/readapi/limit"
)

// write sends the answer and returns its status. HEAD is answered as GET, without the body.
func (s *service) write(w http.ResponseWriter, r *http.Request, x *exchange, out *reply, err error) int {
	if gone(r, err) {
		return statusClientGone
	}
	header := w.Header()
	header.Set(requestIDHeader, x.requestID)
	header.Set("Vary", "X-API-Key, Authorization")
	header.Set("X-Content-Type-Options", "nosniff")
	describeBudget(header, x.budget)
	status := http.StatusOK
	if err != nil {
		p := problemOf(err)
		status = p.code.meaning().status
		out.body = p.append(out.body[:0], x.requestID)
		describeProblem(header, p)
	} else if describe(header, out); out.tagged && matches(r.Header["If-None-Match"], header.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	} else {
		header.Set("Content-Type", "application/json")
	}
	header.Set("Content-Length", strconv.Itoa(len(out.body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out.body) // a client that is gone by now misses nothing
	}
	return status
}

// describe sets the headers of a successful answer.
func describe(header http.Header, out *reply) {
	header.Set("Cache-Control", "private, no-cache")
	if out.unstored {
		header.Set("Cache-Control", "no-store")
	}
	if !out.completeThrough.IsZero() {
		header.Set("Data-Complete-Through", string(appendTime(nil, out.completeThrough)))
	}
	if out.next != "" {
		header.Set("Link", "<"+out.next+`>; rel="next"`)
	}
	if out.tagged {
		header.Set("ETag", entityTag(out.body[out.untagged:]))
	}
}

// describeBudget sets the headers that tell of the key's budget, once it has been asked for.
func describeBudget(header http.Header, budget *limit.Decision) {
	if budget == nil {
		return
	}
	header.Set("RateLimit-Policy", budget.RateLimitPolicy())
	if remaining, known := budget.RateLimit(); known {
		header.Set("RateLimit", remaining)
	}
}

// describeProblem sets the headers of a problem document.
func describeProblem(header http.Header, p *problem) {
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if p.code == unauthenticated {
		header.Set("WWW-Authenticate", `Bearer realm="callboard"`)
	}
	if p.code == methodNotAllowed {
		header.Set("Allow", "GET, HEAD")
	}
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
}

// entityTag is a strong tag: equal bodies have equal tags and others, as far as anyone will ever see, don't.
func entityTag(body []byte) string {
	digest := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(digest[:16]) + `"`
}
