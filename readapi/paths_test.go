package readapi

import (
	"strings"
	"testing"

	"callboard/schema/schematest"
)

// Every path outside the contract is answered with a 404 problem document, without a redirect and without a key.
func TestPaths_OutsideTheContract(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one").String()
	for _, path := range []string{
		"", "/", "/customer", "/customer/phone-systems/", "/customer//phone-systems", "//customer/phone-systems",
		"/customer/phone-systems/" + system, "/customer/phone-systems/" + system + "/", "/customer/phone-systems/" + system + "/phones/",
		"/customer/phone-systems//phones", "/customer/phone-systems/" + system + "//phones",
		"/customer/phone-systems/" + system + "/phones//", "/customer/./phone-systems", "/customer/../customer/phone-systems",
		"/customer%2Fphone-systems", "/Customer/phone-systems", "/customer/phone-systems/" + system + "/call-logs/x/y",
		"/customer/phone-systems/" + system + "/messages", "/customer/phone-systems;x=1", "/" + strings.Repeat("a/", 50_000),
	} {
		w := h.get(path)
		h.expectCode(path, w, notFound)
		h.expectHeaders(path, w, map[string]string{"Location": ""})
	}
	h.expectCode("outside the base path", h.get("https://phones.example.com/customer/phone-systems"), notFound)
}

func TestPaths_Methods(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one").String()
	for _, o := range allOperations() {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
			w := h.do(method, o.examplePath(system))
			h.expectCode(method+" "+o.ID, w, methodNotAllowed)
			h.expectHeaders(method+" "+o.ID, w, map[string]string{"Allow": "GET, HEAD"})
		}
	}
	h.expectCode("POST to no operation", h.do("POST", "/nothing"), notFound)
}

// What a request for no operation is answered depends neither on its key nor on the database.
func TestPaths_NoOperation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.key(h.system("one"))
	keys := map[string]header{
		"without a key": with("Accept", "*/*"), "a valid key": withKey(key), "a forged key": with("X-API-Key", forged(key.Key)),
		"another credential": with("X-API-Key", "pk_phones_x"),
	}
	for range 2 {
		for name, credential := range keys {
			h.expectCode(name+", path", h.get("/nothing", credential), notFound)
			h.expectCode(name+", method", h.do("POST", "/customer/phone-systems", credential), methodNotAllowed)
		}
		h.config.Primary = schematest.OpenPool(t, unreachable)
		h.restart()
	}
}

func TestParseBaseURL(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"http://127.0.0.1:8080/v1":   true,
		"https://x.example/a%20b/v1": true,
		"https://x.example/v1/":      false,
		"https://x.example":          false,
		"https://x.example/v2":       false,
		"https://u:p@x.example/v1":   false,
		"https://x.example/v1?a=b":   false,
		"https://x.example/v1?":      false,
		"https://x.example/v1#a":     false,
		"https://x.example/{a}/v1":   false,
		"ftp://x.example/v1":         false,
		"/v1":                        false,
		"":                           false,
		"https://x.example/%zz/v1":   false,
	} {
		if _, err := parseBaseURL(text); (err == nil) != good {
			t.Errorf("%q: error = %v, want none: %t", text, err, good)
		}
	}
}
