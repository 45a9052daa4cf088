package readapi

import (
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"callboard/readapi/docs"
)

// publicRoute is served without a key, beside the operations: the API's description, its page, and audio by a signed
// link. Its serve method either responds and returns nil, or returns an error before it has written anything.
type publicRoute struct {
	name  string // in logs and metrics
	serve func(http.ResponseWriter, *http.Request, *exchange) error
}

// publicRoute finds the route for the request's path, or for its folder if that is one.
func (s *service) publicRoute(r *http.Request) (publicRoute, bool) {
	path := r.URL.EscapedPath()
	if e, ok := s.publicRoutes[path]; ok {
		return e, true
	}
	folder := path[:strings.LastIndexByte(path, '/')+1]
	e, ok := s.publicRoutes[folder]
	return e, ok && folder != path
}

func (s *service) servePublic(w http.ResponseWriter, r *http.Request, x *exchange, out *reply, e publicRoute) {
	x.operation = e.name

	header := w.Header()
	header.Set(requestIDHeader, x.requestID)
	header.Set("X-Content-Type-Options", "nosniff")

	// Even a panic is answered with a problem document, if nothing is written yet.
	served := &statusWriter{ResponseWriter: w}
	err := func() (err error) {
		defer recovered(&err)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return &problem{code: methodNotAllowed}
		}
		return e.serve(served, r, x)
	}()

	if err != nil && served.status == 0 {
		served.status = s.write(w, r, x, out, err)
	}
	s.record(r, x, out, served.status, err)
	abortIfGone(served.status)
}

// recovered sets err to the panic that is in progress, if there is one. It must be deferred.
func recovered(err *error) {
	if value := recover(); value != nil {
		*err = &panicError{value: value, stack: debug.Stack()}
	}
}

// statusWriter records the status that is written.
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

// addDescription adds the OpenAPI description, the page that renders it, and the page's assets.
func addDescription(
	endpoints map[string]publicRoute, baseURL, prefix string, approvals docs.Approvals, grace time.Duration,
) error {
	files, err := docs.Files(baseURL, prefix, approvals)
	if err != nil {
		return err
	}

	// The files never change, so their ETags are computed once.
	tags := make(map[string]string, len(files))
	for path, file := range files {
		tags[path] = entityTag(file.Body)
	}

	serve := func(w http.ResponseWriter, r *http.Request, x *exchange) error {
		path := r.URL.EscapedPath()
		file, ok := files[path]
		if !ok {
			return &problem{code: notFound}
		}
		x.cut = writeFile(w, r, file, tags[path], grace)
		return nil
	}

	for name, path := range map[string]string{"openapi": "/openapi.json", "docs": "/docs", "docs assets": "/docs/"} {
		endpoints[prefix+path] = publicRoute{name, serve}
	}
	return nil
}

// writeFile sends a file, compressed to a client that accepts it. The two have different ETags, and all requests share
// the bodies. It returns why the body was not written to its end.
func writeFile(w http.ResponseWriter, r *http.Request, file docs.File, tag string, grace time.Duration) cutReason {
	header := w.Header()
	body := file.Body
	if file.Gzipped != nil && preferredCoding(r.Header["Accept-Encoding"], gzipCoding) == gzipCoding {
		body, tag = file.Gzipped, strings.TrimSuffix(tag, `"`)+`-gzip"`
		header.Set("Content-Encoding", gzipCoding)
	}

	header.Set("Cache-Control", file.CacheControl)
	header.Set("Content-Security-Policy", docs.PagePolicy)
	header.Set("ETag", tag)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept-Encoding")

	// A 304 has no body, so it has no coding.
	if matches(r.Header["If-None-Match"], tag) {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return ""
	}

	header.Set("Content-Type", file.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return ""
	}
	return writeBody(w, body, grace)
}
