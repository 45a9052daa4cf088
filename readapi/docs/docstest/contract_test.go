package docstest_test

import (
	"net/http"
	"strings"
	"testing"

	"callboard/readapi/docs/docstest"
)

const system = "0b9e6a52-4f67-4a0e-9d0c-6d5b3b7f1c11"

// answer is a good one, as discovery gives it.
func answer(changes ...func(*docstest.Response)) docstest.Response {
	a := docstest.Response{
		Method: http.MethodGet,
		Path:   "/customer/phone-systems",
		Status: http.StatusOK,
		Header: http.Header{},
		Body:   []byte(`{"data":[{"id":"` + system + `","name":"Harbour Street"}]}`),
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-Request-Id": "a", "ETag": `"abc"`, "Cache-Control": "private, no-cache",
	} {
		a.Header.Set(name, value)
	}
	for _, change := range changes {
		change(&a)
	}
	return a
}

func body(text string) func(*docstest.Response) {
	return func(a *docstest.Response) { a.Body = []byte(text) }
}

func header(name, value string) func(*docstest.Response) {
	return func(a *docstest.Response) { a.Header.Set(name, value) }
}

// problem is a problem document with the members given besides those that all have.
func problem(status int, code, more string) func(*docstest.Response) {
	return func(a *docstest.Response) {
		a.Status = status
		a.Header = http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"a"}, "Cache-Control": {"no-store"}}
		a.Body = []byte(`{"type":"https://callboard.dev/problems/x","title":"t","code":"` + code + `","detail":"d","correlationId":"a","retryable":false` + more + `}`)
	}
}

func path(path string) func(*docstest.Response) { return func(a *docstest.Response) { a.Path = path } }

func TestCheck(t *testing.T) {
	contract, err := docstest.New()
	if err != nil {
		t.Fatal(err)
	}
	noMember := func(a *docstest.Response) { a.Header.Del("ETag") }
	head := func(a *docstest.Response) { a.Method, a.Body = http.MethodHead, nil }
	for name, c := range map[string]struct {
		answer docstest.Response
		want   string // part of the error; empty: none
	}{
		"good":                      {answer(), ""},
		"with a query":              {answer(path("/customer/phone-systems?x=1")), ""},
		"HEAD":                      {answer(head), ""},
		"HEAD without its header":   {answer(head, noMember), "Etag is missing"},
		"unknown member":            {answer(body(`{"data":[],"more":1}`)), "more"},
		"unknown member of a row":   {answer(body(`{"data":[{"id":"` + system + `","name":"x","more":1}]}`)), "more"},
		"missing member":            {answer(body(`{"data":[{"id":"` + system + `"}]}`)), "name"},
		"null where none may be":    {answer(body(`{"data":[{"id":"` + system + `","name":null}]}`)), "/data/0/name"},
		"a UUID in upper case":      {answer(body(`{"data":[{"id":"` + strings.ToUpper(system) + `","name":""}]}`)), "lower case"},
		"no JSON":                   {answer(body(`{"data":[]`)), "EOF"},
		"undocumented header":       {answer(header("X-Powered-By", "x")), "X-Powered-By is not documented"},
		"malformed header":          {answer(header("ETag", "abc")), "Etag"},
		"undocumented status":       {answer(func(a *docstest.Response) { a.Status = 206 }), "206 is not documented"},
		"undocumented content type": {answer(header("Content-Type", "text/plain")), "text/plain"},
		"a problem":                 {answer(problem(401, "UNAUTHENTICATED", `,"status":401`), header("WWW-Authenticate", "Bearer")), ""},
		"a problem elsewhere":       {answer(problem(404, "NOT_FOUND", `,"status":404`), path("/nothing")), ""},
		"another code":              {answer(problem(401, "NOT_FOUND", `,"status":401`), header("WWW-Authenticate", "Bearer")), "NOT_FOUND is not documented"},
		"another status":            {answer(problem(400, "VALIDATION_FAILED", `,"status":401`)), `status is "401"`},
		"a wait that is not said":   {answer(problem(429, "RATE_LIMITED", `,"status":429,"retry_after":7`)), `retry_after is "7"`},
		"a wait that is":            {answer(problem(429, "RATE_LIMITED", `,"status":429,"retry_after":7`), header("Retry-After", "7")), ""},
		"plain text elsewhere":      {answer(problem(404, "NOT_FOUND", `,"status":404`), path("/nothing"), header("Content-Type", "text/plain")), "text/plain"},
		"unknown in a problem":      {answer(problem(404, "NOT_FOUND", `,"status":404,"more":1`), path("/nothing")), "more"},
		"a method that is not GET":  {answer(problem(405, "METHOD_NOT_ALLOWED", `,"status":405`), func(a *docstest.Response) { a.Method = http.MethodPost }), ""},
	} {
		err := contract.Check(c.answer)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		_, _ = docstest.New()
	}
}
