package readapi

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestPreferredCoding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"identity, br"}, ""},
		{[]string{"gzip"}, "gzip"},
		{[]string{"gzip", "ZSTD"}, "zstd"},
		{[]string{"gzip; q=0.5 , zstd ; Q=0.500"}, "zstd"},
		{[]string{"gzip;q=0.5, zstd;q=0"}, "gzip"},
		{[]string{"gzip;Q=0.000"}, ""},
		{[]string{";;,,=;q"}, ""},
	} {
		if got := preferredCoding(c.values, zstdCoding, gzipCoding); got != c.want {
			t.Errorf("%q: coding = %q, want %q", c.values, got, c.want)
		}
	}
}

// decoded returns the content of a body in a coding.
func decoded(t *testing.T, coding string, body []byte) []byte {
	t.Helper()
	var reader io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case zstdCoding:
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(reader, zstd.WithDecoderConcurrency(1))
		t.Cleanup(decoder.Close)
		reader = decoder
	case gzipCoding:
		reader, err = gzip.NewReader(reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// rowsOf is a page without its cursor, which is never the same.
func rowsOf(page []byte) []byte {
	rows, _, _ := bytes.Cut(page, []byte(`,"nextCursor":`))
	return rows
}

// Report pages with transcripts above 1 MiB are sent in the coding that the client prefers. Nothing else is, and
// the limit of a body counts its JSON.
func TestListCallLogReports_Coding(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.contract = nil // which reads JSON
	system, key := h.numberedCalls(1)
	transcripts, bare := reportPath(system, reportQuery("includeTranscripts", "true")), reportPath(system, reportQuery())
	const vary = "X-API-Key, Authorization"
	check := func(path, accept, coding, wantVary string, plain []byte) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := h.do(method, path, withKey(key), with("Accept-Encoding", accept))
			body := w.Body.Bytes()
			h.expectCode(accept, w, "")
			h.expectHeaders(accept, w, map[string]string{"Content-Encoding": coding, "Vary": wantVary, "ETag": "", "Cache-Control": "no-store"})
			switch {
			case method == http.MethodHead && (len(body) > 0 || w.Header().Get("Content-Length") == "0"):
				t.Errorf("%q: HEAD: body = %d bytes, Content-Length = %s", accept, len(body), w.Header().Get("Content-Length"))
			case method == http.MethodHead:
			case w.Header().Get("Content-Length") != strconv.Itoa(len(body)):
				t.Errorf("%q: Content-Length = %s, want %d", accept, w.Header().Get("Content-Length"), len(body))
			case !bytes.Equal(rowsOf(decoded(t, coding, body)), rowsOf(plain)):
				t.Errorf("%q: the decoded body differs", accept)
			case coding != "" && len(body) > len(plain)/2:
				t.Errorf("%q: body = %d bytes of %d, want less than half", accept, len(body), len(plain))
			}
		}
	}
	h.transcribe(nth(0), "a", minCompressed)
	large := h.get(transcripts, withKey(key)).Body.Bytes()
	check(transcripts, "gzip, zstd", zstdCoding, vary+", Accept-Encoding", large)
	check(transcripts, "gzip", gzipCoding, vary+", Accept-Encoding", large)
	check(transcripts, "identity;q=0, gzip;q=0.1", gzipCoding, vary+", Accept-Encoding", large)
	check(transcripts, "br", "", vary+", Accept-Encoding", large)
	check(bare, "gzip, zstd", "", vary, h.get(bare, withKey(key)).Body.Bytes())

	h.transcribe(nth(0), "a", minCompressed+minCompressed-len(large))
	small := h.get(transcripts, withKey(key)).Body.Bytes()
	if len(small) != minCompressed {
		t.Fatalf("body = %d bytes, want %d", len(small), minCompressed)
	}
	check(transcripts, "gzip, zstd", "", vary, small)

	h.transcribe(nth(0), "a", maxBody)
	h.expectCode("too large before compression", h.get(transcripts, withKey(key), with("Accept-Encoding", "zstd")), exportTooLarge)
	if got := h.metric("callboard_readapi_body_bytes", ""); got != 0 {
		t.Errorf("reserved bytes = %v, want 0", got)
	}
}
