package readapi

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/readapi/query"
)

// The pointers and codes of the problems that query strings have. What the description says of each parameter is
// proven by TestContract_Parameters.
func TestParameters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	const anyID = "7d9f4c1e-0000-4000-8000-000000000001"
	const from, to = "dateFrom=2026-03-01T00:00:00Z", "dateTo=2026-03-02T00:00:00Z"
	for operation, table := range map[string]map[string]string{
		"listPhones": {
			// the query's form
			"":                      "",
			"&&page=1&":             "",
			"Page=1":                "/Page UNKNOWN_PARAMETER",
			"a/b~c=1":               "/a~1b~0c UNKNOWN_PARAMETER",
			"=1":                    "/ UNKNOWN_PARAMETER",
			"page=x&page=1":         "/page REPEATED",
			"page=1&%70age=2":       "/page REPEATED",
			"page=%zz":              "/page INVALID_FORMAT",
			"page":                  "/page INVALID_FORMAT",
			"%zz=1":                 " INVALID_FORMAT",
			"page=1;pageSize=2":     "/page INVALID_FORMAT",
			strings.Repeat("&", 31): "",
			strings.Repeat("&", 32): " TOO_LONG",
			// whole numbers
			"page=1&pageSize=100":        "",
			"page=0007":                  "",
			"page=-99999999999999999999": "/page TOO_SMALL",
			"page=+1":                    "/page INVALID_FORMAT",
			"page=1e3":                   "/page INVALID_FORMAT",
			"page=%D9%A1":                "/page INVALID_FORMAT", // an Arabic digit
			"page=9223372036854775807":   "",
			"page=9223372036854775808":   "/page TOO_LARGE",
			// texts
			"status=" + strings.Repeat("%C3%A4", 1024): "",
			"status=%00":                 "/status INVALID_FORMAT",
			"status=%FF":                 "/status INVALID_FORMAT",
			"status=%27%3B%20--%25_%5C":  "",
			"extensionId=x&status=&no=1": "/status INVALID_FORMAT, /extensionId INVALID_FORMAT, /no UNKNOWN_PARAMETER",
			// identifiers
			"extensionId=" + strings.ToUpper(anyID):              "",
			"extensionId=" + strings.ReplaceAll(anyID, "-", ""):  "/extensionId INVALID_FORMAT",
			"extensionId=%7B7d9f4c1e-0000-4000-8000-00000001%7D": "/extensionId INVALID_FORMAT",
		},
		"listPhoneNumbers": {"phoneNumber=%2B15550001": "", "phoneNumber=+15550001": "/phoneNumber INVALID_FORMAT"},
		"listAgentConfigs": {
			"status=testing":           "",
			"status=Active":            "/status NOT_ALLOWED",
			"agentNumber=x&status=y&z": "/status NOT_ALLOWED, /agentNumber INVALID_FORMAT, /z UNKNOWN_PARAMETER",
		},
		"listCallRecordings": {"status=ready": "", "status=processing": "", "status=READY": "/status NOT_ALLOWED"},
		"listCallLogs": {
			"callSid=a%3Bb": "",
			"api_key=secret&page=0&pageSize=x&dateTo=1&dateFrom=&callSid=&callSid=": "/page TOO_SMALL, /pageSize INVALID_FORMAT, /dateFrom INVALID_FORMAT, /dateTo INVALID_FORMAT, /callSid REPEATED, /api_key UNKNOWN_PARAMETER",
			from: "",
			"dateFrom=2026-03-01T00:00:00.123456789123Z":                           "",
			"dateFrom=2026-03-01T00:00:00%2B00:00":                                 "",
			"dateFrom=2026-03-01T00:00:00+00:00":                                   "/dateFrom INVALID_FORMAT", // the + is a space
			"dateFrom=2026-03-01T00:00:00%2B01:00":                                 "/dateFrom INVALID_FORMAT",
			"dateFrom=2026-03-01T00:00:00":                                         "/dateFrom INVALID_FORMAT",
			"dateFrom=2026-03-01":                                                  "/dateFrom INVALID_FORMAT",
			"dateFrom=2026-02-30T00:00:00Z":                                        "/dateFrom INVALID_FORMAT",
			"dateFrom=0000-01-01T00:00:00Z":                                        "",
			"dateFrom=9999-12-31T23:59:59.9999Z":                                   "",
			"dateTo=9999-12-31T23:59:59.9999Z":                                     "",
			from + "&dateTo=2026-03-01T00:00:00Z":                                  "",
			"dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-01T00:00:00Z":        "/dateTo TOO_SMALL",
			"dateFrom=2026-03-01T00:00:00.00011Z&dateTo=2026-03-01T00:00:00.0002Z": "",
			"dateFrom=2026-03-01T00:00:00.00020Z&dateTo=2026-03-01T00:00:00.0002Z": "",
			"dateFrom=2026-03-01T00:00:00-00:00":                                   "/dateFrom INVALID_FORMAT",
			"dateFrom=2026-03-01T00:00:00.Z":                                       "/dateFrom INVALID_FORMAT",
			"dateFrom=2026-03-01T00:00:00.0002Z&dateTo=2026-03-01T00:00:00.00011Z": "/dateTo TOO_SMALL",
		},
		"listCallLogReports": {
			"":                            "/dateFrom REQUIRED, /dateTo REQUIRED",
			from:                          "/dateTo REQUIRED",
			from + "&" + to:               "",
			from + "&" + to + "&cursor=":  "/cursor INVALID_FORMAT",
			from + "&" + to + "&cursor=x": "/cursor CURSOR_INVALID",
			"cursor=x":                    "/dateFrom REQUIRED, /dateTo REQUIRED, /cursor CURSOR_INVALID",
			from + "&" + to + "&includeTranscripts=1":                                        "/includeTranscripts INVALID_FORMAT",
			from + "&" + to + "&includeTranscripts=true&limit=25":                            "",
			from + "&" + to + "&includeTranscripts=true&limit=26":                            "/limit TOO_LARGE",
			from + "&" + to + "&includeTranscripts=false&limit=26":                           "",
			from + "&dateTo=2026-03-01T00:00:00%2B00:00":                                     "",
			"dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-01T00:00:00Z":                  "/dateTo TOO_SMALL",
			"dateFrom=2026-03-01T00:00:00.0000000002Z&dateTo=2026-03-01T00:00:00.000000001Z": "",
			"dateFrom=2026-03-01T00:00:00.000000001Z&dateTo=2026-03-01T00:00:00.0000000002Z": "/dateTo TOO_SMALL",
			"dateFrom=0000-01-01T00:00:00Z&dateTo=9999-12-31T23:59:59.9999Z":                 "",
		},
		"listAccessiblePhoneSystems": {"page=1&page=2&x": "/page UNKNOWN_PARAMETER, /x UNKNOWN_PARAMETER"},
		"getCallLogReportDimensions": {"x": "/x UNKNOWN_PARAMETER"},
	} {
		path := operationNamed(t, operation).examplePath(system.String()) + "?"
		for query, want := range table {
			w := h.get(path+query, withKey(key))
			if want == "" {
				h.expectCode(operation+"?"+query, w, "")
				continue
			}
			h.expectCode(operation+"?"+query, w, validationFailed)
			if got := problemIn(t, w).fields(); got != want {
				t.Errorf("%s?%s: errors = %s, want %s", operation, query, got, want)
			}
		}
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	const good = "7d9f4c1e-0000-4000-8000-000000000001"
	for path, want := range map[string]string{
		"x/phones":                     "/phoneSystemId INVALID_FORMAT",
		"x/phones/y":                   "/phoneSystemId INVALID_FORMAT, /phoneId INVALID_FORMAT",
		"{" + good + "}/phones":        "/phoneSystemId INVALID_FORMAT",
		"urn:uuid:" + good + "/phones": "/phoneSystemId INVALID_FORMAT",
		strings.ReplaceAll(good, "-", "") + "/phones": "/phoneSystemId INVALID_FORMAT",
		good[:35] + "/phones":                         "/phoneSystemId INVALID_FORMAT",
		good[:35] + "g/phones":                        "/phoneSystemId INVALID_FORMAT",
		good + "%20/phones":                           "/phoneSystemId INVALID_FORMAT",
		good[:35] + "%2F/phones":                      "/phoneSystemId INVALID_FORMAT",
		"../phones":                                   "/phoneSystemId INVALID_FORMAT",
		"./phones":                                    "/phoneSystemId INVALID_FORMAT",
		strings.Repeat("a", 100_000) + "/phones":      "/phoneSystemId INVALID_FORMAT",
		system.String() + "/call-analyses/1":          "/id INVALID_FORMAT",
		system.String() + "/recordings/RE":            "/recordingSid INVALID_FORMAT",
		system.String() + "/recordings/re1":           "/recordingSid INVALID_FORMAT",
		system.String() + "/recordings/RE1%0A":        "/recordingSid INVALID_FORMAT",
		system.String() + "/recordings/RE" + strings.Repeat("a", 63) + "/url": "/recordingSid INVALID_FORMAT",
		system.String() + "/recordings/RE" + strings.Repeat("a", 62) + "/url": "",
		system.String() + "/recordings/%52E1":                                 "",
		strings.ToUpper(system.String()) + "/phones/" + strings.ToUpper(good): "",
	} {
		w := h.get("/customer/phone-systems/"+path, withKey(key))
		if want == "" {
			h.expectCode(path, w, notFound)
			continue
		}
		h.expectCode(path, w, validationFailed)
		if got := problemIn(t, w).fields(); got != want {
			t.Errorf("%.60s: errors = %s, want %s", path, got, want)
		}
	}
}

func TestPage_OffsetDoesNotOverflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := page{number: rapid.Int64Range(1, 1<<63-1).Draw(t, "page"), size: rapid.Int64Range(1, 100).Draw(t, "size")}
		if got := g.offset(); got < 0 || got != 1<<63-1 && got/g.size != g.number-1 {
			t.Errorf("offset = %d, want %d pages of %d", got, g.number-1, g.size)
		}
	})
}

// Whatever the fractions, a list's window has exactly the whole milliseconds between the two instants. A report's window
// is half open.
func TestParameters_Window(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := make([]string, 2)
		for i := range texts {
			texts[i] = "2026-03-01T09:30:00." + rapid.StringMatching(`00[0-3][0-9]{0,8}`).Draw(t, []string{"one", "other"}[i]) + "Z"
		}
		slices.SortFunc(texts, func(a, b string) int { return at(a).Compare(at(b)) })
		p := parseParameters("dateFrom=" + texts[0] + "&dateTo=" + texts[1])
		w := p.window()
		q := parseParameters("dateFrom="+texts[0]+"&dateTo="+texts[1]).reportRequest(uuid.Nil, nil)
		if err := p.err(); err != nil {
			t.Fatal(err)
		}
		for stored := at("2026-03-01T09:29:59.999Z"); stored.Before(at("2026-03-01T09:30:00.006Z")); stored = stored.Add(time.Millisecond) {
			want := !stored.Before(at(texts[0])) && !stored.After(at(texts[1]))
			if got := !stored.Before(w.From) && stored.Before(w.Until); got != want {
				t.Errorf("%s in [%s, %s] = %t, want %t", stored, texts[0], texts[1], got, want)
			}
			want = want && stored.Before(at(texts[1]))
			if got := !stored.Before(q.from) && stored.Before(q.until); got != want {
				t.Errorf("%s in [%s, %s) = %t, want %t", stored, texts[0], texts[1], got, want)
			}
		}
	})
	if got := parseParameters("").window(); got != query.Always() {
		t.Errorf("window without dates = %v, want %v", got, query.Always())
	}
}
