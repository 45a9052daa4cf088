package readapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	"callboard/readapi/docs"
)

// addDescription adds the contract's description and the page that shows it, the page's assets below its path.
func addDescription(resources map[string]resource, baseURL, prefix string, approvals docs.Approvals) error {
	files, err := docs.Files(baseURL, prefix, approvals)
	if err != nil {
		return err
	}
	tags := make(map[string]string, len(files))
	for path, file := range files {
		tags[path] = entityTag(file.Body)
	}
	serve := func(w http.ResponseWriter, r *http.Request) error {
		path := r.URL.EscapedPath()
		file, ok := files[path]
		if !ok {
			return &problem{code: notFound}
		}
		return writeFile(w, r, file, tags[path])
	}
	for name, path := range map[string]string{"openapi": "/openapi.json", "docs": "/docs", "docs assets": "/docs/"} {
		resources[prefix+path] = resource{name, serve}
	}
	return nil
}

// writeFile sends a file as it is stored, or unpacked to a client that doesn't read gzip. The two have tags of their own.
func writeFile(w http.ResponseWriter, r *http.Request, file docs.File, tag string) error {
	unpack := file.Gzipped && !acceptsGzip(r.Header)
	if unpack {
		var err error
		if file.Body, err = unzipped(file.Body); err != nil {
			return err
		}
		tag = strings.TrimSuffix(tag, `"`) + `-plain"`
	}
	header := w.Header()
	header.Set("Cache-Control", file.CacheControl)
	header.Set("Content-Security-Policy", docs.PagePolicy)
	header.Set("ETag", tag)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept-Encoding")
	if matches(r.Header["If-None-Match"], tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if file.Gzipped && !unpack {
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", file.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(file.Body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(file.Body) // a client that is gone by now misses nothing
	}
	return nil
}

func unzipped(body []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// acceptsGzip reports whether a client names gzip and does not rule it out.
func acceptsGzip(header http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(header["Accept-Encoding"], ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, value, weighed := strings.Cut(weight, "=")
			return !weighed || strings.Trim(value, " 0.") != ""
		}
	}
	return false
}
