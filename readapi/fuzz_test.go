package readapi

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/readapi/access"
)

// FuzzService sends any request. None panics or is answered with a 5xx, and the contract allows every response.
func FuzzService(f *testing.F) {
	h := newHarness(f, func(c *Config) { c.Log = zerolog.Nop() })
	fixture := h.fuzzFixture()
	for i, target := range fixture.targets {
		f.Add("GET", target, "", "", byte(0))
		f.Add("HEAD", target, "page=2&pageSize=1", "If-None-Match: W/\"x\", *", byte(i))
	}
	for _, query := range []string{
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00%2B00:00&includeTranscripts=true&limit=1&timeField=updatedAt",
		"cursor=" + fixture.cursor + "&dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00Z",
		"callSid=CA1&dateFrom=2026-03-01T00:00:00.0000001Z", "status=ready&status=ready", "agentNumber=9&status=active", "=&&;=%zz",
		"extensionId=" + otherID, "callLogId={" + otherID + "}", "phoneNumber=+15550001", "number=101&status=active", "page=9223372036854775807",
	} {
		for _, target := range fixture.targets {
			f.Add("GET", target, query, "", byte(0))
		}
	}
	for _, target := range []string{
		"/", "/v1", "//", "/api/v1/customer/phone-systems/", "/api/v1/./customer/phone-systems", "/api/v1/customer%2Fphone-systems", "*",
		"/api/openapi.json", "/api/docs", "/api/docs/x", "/api/audio/x", "/api/v1/customer/phone-systems/%00", "http://other/api/v1",
	} {
		f.Add("GET", target, "", "X-Request-Id: a b", byte(0))
		f.Add("POST", target, "", "Authorization: Bearer x.y.z", byte(7))
		f.Add("CONNECT", target, "%zz=;%00", "X-Forwarded-For: x", byte(0))
	}
	f.Fuzz(func(t *testing.T, method, target, query, header string, credential byte) {
		request := fixture.request(method, target, query, header, credential)
		if request == nil {
			t.Skip("not HTTP: net/http refuses it")
		}
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, request.WithContext(t.Context()))
		path, within := strings.CutPrefix(request.URL.EscapedPath(), "/api/v1")
		if !within {
			path = ""
		}
		if err := h.contract.check(request.Method, path, w); err != nil {
			t.Errorf("status %d is outside the contract: %v\n%.2000s", w.Code, err, w.Body)
		}
		if w.Code >= http.StatusInternalServerError || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("status = %d, X-Request-Id = %q, want no 5xx and an id: %s", w.Code, w.Header().Get("X-Request-Id"), w.Body)
		}
	})
}

// fuzzFixture is a phone system with a row of every resource.
type fuzzFixture struct {
	targets     []string // a path of every operation, with identifiers that exist
	cursor      string
	credentials []string
}

func (h *harness) fuzzFixture() fuzzFixture {
	h.Helper()
	system := h.system("one")
	ids := h.fullRows(system)
	h.directory(system)
	calls := make([]call, 5)
	for i := range calls {
		calls[i] = call{id: uuid.New(), sid: fmt.Sprint("CA", i), createdAt: at(created).Add(time.Duration(i) * time.Hour)}
	}
	h.calls(system, calls...)
	h.fullReport(calls[0].id)
	ids["getCallLog"] = calls[0].id.String()
	h.recording(system, "REready", "call", "ready", true)
	h.classify(uuid.Nil, "category", "new_lead", "Lead", nil)
	h.refers(system, "category", "new_lead", "gone")
	h.refers(system, "call_group", groupID)
	countRows(h, h.pool)
	h.setWatermark(at("2200-01-01T00:00:00Z")) // every window is final
	whole := h.key(system)
	t := fuzzFixture{credentials: []string{
		whole.Key.Reveal(), h.key(system, narrowedTo(uuid.MustParse(answeredID))).Key.Reveal(),
		h.key(system, withScopes(access.ScopePhones)).Key.Reveal(), h.key(h.system("two")).Key.Reveal(),
		"", "pk_phones_x", "sk_phones_x_y", "a.b.c",
	}}
	for _, o := range allOperations() {
		path := o.examplePath(system.String())
		if id := ids[o.ID]; id != "" {
			path = path[:strings.LastIndexByte(path, '/')+1] + id
		}
		t.targets = append(t.targets, "/api/v1"+strings.ReplaceAll(path, "REabc_-1", "REready"))
	}
	t.cursor = h.cursorOf(reportPath(system, reportQuery("limit", "1")), whole)
	return t
}

// request parses a request as net/http does. It is nil if it is not HTTP.
func (t fuzzFixture) request(method, target, query, header string, credential byte) *http.Request {
	if query != "" {
		target += "?" + query
	}
	text := method + " " + target + " HTTP/1.1\r\nHost: phones.example.com\r\n"
	if key := t.credentials[int(credential)%len(t.credentials)]; key != "" {
		text += "X-API-Key: " + key + "\r\n"
	}
	if header != "" {
		text += header + "\r\n"
	}
	request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text + "\r\n")))
	if err != nil {
		return nil
	}
	request.RemoteAddr = "192.0.2.1:1234"
	return request
}
