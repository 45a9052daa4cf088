package docstest_test

import (
	"net/http"
	"strings"
	"testing"

	"callboard/readapi/docs/docstest"
)

const system = "0b9e6a52-4f67-4a0e-9d0c-6d5b3b7f1c11"

// discovery is a valid response of listAccessiblePhoneSystems with changes.
func discovery(changes ...func(*docstest.Response)) docstest.Response {
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

// problem changes a response into a problem document. more are members beside those that all problems have.
func problem(status int, code, more string) func(*docstest.Response) {
	return func(a *docstest.Response) {
		a.Status = status
		a.Header = http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"a"}, "Cache-Control": {"no-store"}}
		a.Body = []byte(`{"type":"https://callboard.dev/problems/x","title":"t","code":"` + code + `","detail":"d","correlationId":"a","retryable":false` + more + `}`)
	}
}

func path(path string) func(*docstest.Response) { return func(a *docstest.Response) { a.Path = path } }

func TestCheck(t *testing.T) {
	t.Parallel()
	contract, err := docstest.New()
	if err != nil {
		t.Fatal(err)
	}
	noETag := func(a *docstest.Response) { a.Header.Del("ETag") }
	head := func(a *docstest.Response) { a.Method, a.Body = http.MethodHead, nil }
	for name, c := range map[string]struct {
		response docstest.Response
		want     string // part of the error; empty: no error
	}{
		"valid":                       {discovery(), ""},
		"with a query":                {discovery(path("/customer/phone-systems?x=1")), ""},
		"HEAD":                        {discovery(head), ""},
		"HEAD without its header":     {discovery(head, noETag), "Etag is missing"},
		"unknown member":              {discovery(body(`{"data":[],"more":1}`)), "more"},
		"unknown member of a row":     {discovery(body(`{"data":[{"id":"` + system + `","name":"x","more":1}]}`)), "more"},
		"missing member":              {discovery(body(`{"data":[{"id":"` + system + `"}]}`)), "name"},
		"null in a required string":   {discovery(body(`{"data":[{"id":"` + system + `","name":null}]}`)), "/data/0/name"},
		"a UUID in upper case":        {discovery(body(`{"data":[{"id":"` + strings.ToUpper(system) + `","name":""}]}`)), "lower case"},
		"cut JSON":                    {discovery(body(`{"data":[]`)), "EOF"},
		"undocumented header":         {discovery(header("X-Powered-By", "x")), "X-Powered-By is not documented"},
		"malformed header":            {discovery(header("ETag", "abc")), "Etag"},
		"undocumented status":         {discovery(func(a *docstest.Response) { a.Status = 206 }), "status 206 is not documented"},
		"undocumented content type":   {discovery(header("Content-Type", "text/plain")), "text/plain"},
		"a problem":                   {discovery(problem(401, "UNAUTHENTICATED", `,"status":401`), header("WWW-Authenticate", "Bearer")), ""},
		"a problem for no operation":  {discovery(problem(404, "NOT_FOUND", `,"status":404`), path("/nothing")), ""},
		"another code":                {discovery(problem(401, "NOT_FOUND", `,"status":401`), header("WWW-Authenticate", "Bearer")), "NOT_FOUND is not documented"},
		"another status":              {discovery(problem(400, "VALIDATION_FAILED", `,"status":401`)), `status is "401"`},
		"retry_after without header":  {discovery(problem(429, "RATE_LIMITED", `,"status":429,"retry_after":7`)), `retry_after is "7"`},
		"retry_after with header":     {discovery(problem(429, "RATE_LIMITED", `,"status":429,"retry_after":7`), header("Retry-After", "7")), ""},
		"plain text for no operation": {discovery(problem(404, "NOT_FOUND", `,"status":404`), path("/nothing"), header("Content-Type", "text/plain")), "text/plain"},
		"unknown in a problem":        {discovery(problem(404, "NOT_FOUND", `,"status":404,"more":1`), path("/nothing")), "more"},
		"a method that is not GET":    {discovery(problem(405, "METHOD_NOT_ALLOWED", `,"status":405`), func(a *docstest.Response) { a.Method = http.MethodPost }), ""},
	} {
		err := contract.Check(c.response)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		_, _ = docstest.New()
	}
}
