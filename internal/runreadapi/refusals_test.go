package runreadapi

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callboard/events/eventstest"
)

// What net/http answers before the handler runs, and so without a problem document, is what SECURITY.md lists.
func TestPublicServer_RefusedBeforeTheHandler(t *testing.T) {
	server := publicServer()
	server.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the handler got %s %s", r.Method, r.URL) })
	listener := eventstest.Listen(t)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	const host, end = "Host: phones.example.com\r\n", "\r\n\r\n"
	get := func(headers string) string { return "GET / HTTP/1.1\r\n" + host + headers }
	tooLong := get("X-API-Key: ")
	tooLong += strings.Repeat("a", server.MaxHeaderBytes+4096-len(tooLong)) // net/http reads that many bytes before it gives up
	var answers []string
	for request, want := range map[string]string{
		"hello" + end: "400 Bad Request",
		"GET /v1/customer/phone-systems/%zz HTTP/1.1\r\n" + host + "\r\n":            "400 Bad Request",
		"GET /v1/customer/phone-systems/100%/call-logs HTTP/1.1\r\n" + host + "\r\n": "400 Bad Request",
		"GET /v1/a b HTTP/1.1\r\n" + host + "\r\n":                                   "400 Bad Request",
		get("X-API-Key: a\r" + end):                                                  "400 Bad Request", // from a file with CRLF
		get("no colon" + end):                                                        "400 Bad Request",
		get(host + "\r\n"):                                                           "400 Bad Request",
		get("Content-Length: x" + end):                                               "400 Bad Request",
		get("X API Key: a" + end):                                                    "400 Bad Request: invalid header name",
		"GET / HTTP/1.1" + end:                                                       "400 Bad Request: missing required Host header",
		"GET / HTTP/1.1\r\nHost: a b" + end:                                          "400 Bad Request: malformed Host header",
		get("Expect: a" + end):                                                       "417 Expectation Failed",
		tooLong:                                                                      "431 Request Header Fields Too Large",
		get("Transfer-Encoding: gzip" + end):                                         "501 Not Implemented",
		"GET / HTTP/2.0\r\n" + host + "\r\n":                                         "505 HTTP Version Not Supported: unsupported protocol version",
	} {
		if got, _, _ := strings.Cut(exchange(t, listener.Addr(), request), "\r\n"); got != "HTTP/1.1 "+want {
			t.Errorf("%.60q: answer = %s, want %s", request, got, want)
		}
		answers = append(answers, want)
	}

	document, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| .* \\| `([45]\\d\\d [^`]*)` \\|$").FindAllStringSubmatch(string(document), -1) {
		listed = append(listed, row[1])
	}
	sorted := func(list []string) []string { slices.Sort(list); return slices.Compact(list) }
	if got, want := sorted(listed), sorted(answers); !slices.Equal(got, want) {
		t.Errorf("SECURITY.md lists %q, want %q", got, want)
	}
}

// exchange sends a request and returns what is read to the end of the connection.
func exchange(tb testing.TB, address net.Addr, request string) string {
	tb.Helper()
	conn, err := (&net.Dialer{}).DialContext(tb.Context(), address.Network(), address.String())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		tb.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		tb.Fatal(err)
	}
	return string(answer)
}
