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
	"callboard/readapi/docs/docstest"
	"callboard/readapi/query/querytest"
)

// FuzzService asks what nobody would ask. Whatever it is, nothing panics, nothing is a 5xx, every error is a whole problem
// document, and every answer is one that the contract allows.
func FuzzService(f *testing.F) {
	h := newHarness(f, func(c *Config) { c.Log = zerolog.Nop() })
	town := h.town()
	for i, target := range town.targets {
		f.Add("GET", target, "", "", byte(0))
		f.Add("HEAD", target, "page=2&pageSize=1", "If-None-Match: W/\"x\", *", byte(i))
	}
	for _, query := range []string{
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00%2B00:00&includeTranscripts=true&limit=1&timeField=updatedAt",
		"cursor=" + town.cursor + "&dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00Z",
		"callSid=CA1&dateFrom=2026-03-01T00:00:00.0000001Z", "status=ready&status=ready", "agentNumber=9&status=active", "=&&;=%zz",
		"extensionId=" + otherID, "callLogId={" + otherID + "}", "phoneNumber=+15550001", "number=101&status=active", "page=9223372036854775807",
	} {
		for _, target := range town.targets {
			f.Add("GET", target, query, "", byte(0))
		}
	}
	for _, target := range []string{
		"/", "/v1", "//", "/api/v1/customer/phone-systems/", "/api/v1/./customer/phone-systems", "/api/v1/customer%2Fphone-systems", "*",
		"/api/openapi.json", "/api/docs", "/api/docs/x", "/api/audio/x", "/api/v1/customer/phone-systems/%00", "http://other/api/v1",
	} {
		f.Add("GET", target, "", "X-Request-Id: a b", byte(0))
		f.Add("POST", target, "", "Authorization: Bearer x.y.z", byte(7))
	}
	f.Fuzz(func(t *testing.T, method, target, query, header string, credential byte) {
		request := town.request(method, target, query, header, credential)
		if request == nil {
			t.Skip("not HTTP: the server itself refuses it")
		}
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, request.WithContext(t.Context()))
		path, within := strings.CutPrefix(request.URL.EscapedPath(), "/api/v1")
		if !within {
			path = ""
		}
		answer := docstest.Response{Method: request.Method, Path: path, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
		if err := h.contract.Check(answer); err != nil {
			t.Errorf("%d is outside the contract: %v\n%.2000s", w.Code, err, w.Body)
		}
		if w.Code >= http.StatusInternalServerError || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%d, request id %q\n%s", w.Code, w.Header().Get("X-Request-Id"), w.Body)
		}
	})
}

// town is a phone system with a row of everything, and who asks for it.
type town struct {
	targets     []string // a path of every operation, with identifiers that are there
	cursor      string
	credentials []string
}

func (h *harness) town() town {
	h.Helper()
	system := h.system("one")
	ids := make(map[string]string)
	for _, b := range bodies(system) {
		if ids[b.detail] == "" && b.table != "call_log" {
			ids[b.detail] = h.put(system, b)
		}
	}
	h.named(system)
	calls := make([]call, 5)
	for i := range calls {
		calls[i] = call{id: uuid.New(), sid: fmt.Sprint("CA", i), createdAt: at(created).Add(time.Duration(i) * time.Hour)}
	}
	h.calls(system, calls...)
	h.reported(calls[0].id)
	ids["getCallLog"] = calls[0].id.String()
	h.recording(system, "REready", "call", "ready", true)
	h.define(uuid.Nil, "category", "new_lead", "Lead", nil)
	h.refers(system, "category", "new_lead", "gone")
	h.refers(system, "call_group", groupID)
	querytest.Count(h, h.pool)
	h.standing(at("2200-01-01T00:00:00Z")) // so that no window waits
	whole := h.key(system)
	t := town{credentials: []string{
		whole.Key.Reveal(), h.key(system, narrowedTo(uuid.MustParse(answeredID))).Key.Reveal(),
		h.key(system, withScopes(access.ScopePhones)).Key.Reveal(), h.key(h.system("two")).Key.Reveal(),
		"", "pk_phones_x", "sk_phones_x_y", "a.b.c",
	}}
	for _, o := range register() {
		path := o.examplePath(system.String())
		if id := ids[o.ID]; id != "" {
			path = path[:strings.LastIndexByte(path, '/')+1] + id
		}
		t.targets = append(t.targets, "/api/v1"+strings.ReplaceAll(path, "REabc_-1", "REready"))
	}
	t.cursor = h.cursorOf(reportPath(system, reportQuery("limit", "1")), whole)
	return t
}

// request is what a server makes of a request's text, nil where it makes nothing of it.
func (t town) request(method, target, query, header string, credential byte) *http.Request {
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
