package readapi

import (
	"net/http"
	"runtime/debug"
	"strings"
)

// resource is something served beside the operations, without a key: the description of the contract, its page, audio behind
// a signed link. It either answers and returns nil, or returns an error before it has written anything.
type resource struct {
	name  string // in logs and metrics
	serve func(http.ResponseWriter, *http.Request) error
}

// resource is what the request's path names: a resource's own path, or one below a path that ends in a slash.
func (s *service) resource(r *http.Request) (resource, bool) {
	path := r.URL.EscapedPath()
	if res, ok := s.resources[path]; ok {
		return res, true
	}
	folder := path[:strings.LastIndexByte(path, '/')+1]
	res, ok := s.resources[folder]
	return res, ok && folder != path
}

// serve answers a request for a resource.
func (s *service) serve(w http.ResponseWriter, r *http.Request, x *exchange, out *reply, res resource) {
	x.operation = res.name
	header := w.Header()
	header.Set(requestIDHeader, x.requestID)
	header.Set("X-Content-Type-Options", "nosniff")
	served := &statusWriter{ResponseWriter: w}
	err := func() (err error) {
		defer func() {
			if value := recover(); value != nil {
				err = &panicError{value: value, stack: debug.Stack()}
			}
		}()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return &problem{code: methodNotAllowed}
		}
		return res.serve(served, r)
	}()
	if err != nil && served.status == 0 {
		served.status = s.write(w, r, x, out, err)
	}
	s.record(r, x, served.status, err)
	abortIfGone(served.status)
}

// statusWriter notes the status that is written.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
