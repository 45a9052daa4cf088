package readapi

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// The rules of whole numbers, of names and of the query's form, as the problems that they make: pointer and code, in order.
func TestParameters_Page(t *testing.T) {
	expectProblems(t, map[string]string{
		"":                                 "",
		"&&page=1&":                        "",
		"page=1&pageSize=100":              "",
		"page=0007":                        "",
		"page=0":                           "/page TOO_SMALL",
		"page=-1":                          "/page TOO_SMALL",
		"page=-":                           "/page INVALID_FORMAT",
		"page=-99999999999999999999":       "/page TOO_SMALL",
		"page=%2B1":                        "/page INVALID_FORMAT",
		"page=+1":                          "/page INVALID_FORMAT",
		"page=1%20":                        "/page INVALID_FORMAT",
		"page=1e3":                         "/page INVALID_FORMAT",
		"page=1.0":                         "/page INVALID_FORMAT",
		"page=0x1":                         "/page INVALID_FORMAT",
		"page=1_0":                         "/page INVALID_FORMAT",
		"page=%D9%A1":                      "/page INVALID_FORMAT", // an Arabic digit
		"page=":                            "/page INVALID_FORMAT",
		"page":                             "/page INVALID_FORMAT",
		"page=9223372036854775807":         "",
		"page=9223372036854775808":         "/page TOO_LARGE",
		"page=" + strings.Repeat("9", 400): "/page TOO_LARGE",
		"page=1&page=1":                    "/page REPEATED",
		"page=x&page=1":                    "/page REPEATED",
		"page=1&%70age=2":                  "/page REPEATED",
		"pageSize=0":                       "/pageSize TOO_SMALL",
		"pageSize=101":                     "/pageSize TOO_LARGE",
		"pagesize=10":                      "/pagesize UNKNOWN_PARAMETER",
		"Page=1":                           "/Page UNKNOWN_PARAMETER",
		"a/b~c=1":                          "/a~1b~0c UNKNOWN_PARAMETER",
		"=1":                               "/ UNKNOWN_PARAMETER",
		"x=1&x=2":                          "/x UNKNOWN_PARAMETER",
		"page=%zz":                         "/page INVALID_FORMAT",
		"page=%":                           "/page INVALID_FORMAT",
		"%zz=1":                            " INVALID_FORMAT",
		"page=1;pageSize=2":                "/page INVALID_FORMAT",
		"page;=1":                          " INVALID_FORMAT",
	})
}

func TestParameters_CallSid(t *testing.T) {
	expectProblems(t, map[string]string{
		"callSid=a%3Bb":                           "",
		"callSid=" + strings.Repeat("a", 64):      "",
		"callSid=" + strings.Repeat("%C3%A4", 64): "",
		"callSid=" + strings.Repeat("a", 65):      "/callSid TOO_LONG",
		"callSid=":                                "/callSid INVALID_FORMAT",
		"callSid=%00":                             "/callSid INVALID_FORMAT",
		"callSid=%FF":                             "/callSid INVALID_FORMAT",
		"api_key=secret&page=0&pageSize=x&dateTo=1&dateFrom=&callSid=&callSid=": "/page TOO_SMALL, /pageSize INVALID_FORMAT, /dateFrom INVALID_FORMAT, /dateTo INVALID_FORMAT, /callSid REPEATED, /api_key UNKNOWN_PARAMETER",
	})
}

func TestParameters_Dates(t *testing.T) {
	expectProblems(t, map[string]string{
		"dateFrom=2026-03-01T00:00:00Z":                                        "",
		"dateFrom=2026-03-01T00:00:00.123456789123Z":                           "",
		"dateFrom=2026-03-01T00:00:00%2B00:00":                                 "",
		"dateFrom=2026-03-01T00:00:00+00:00":                                   "/dateFrom INVALID_FORMAT", // the + is a space
		"dateFrom=2026-03-01T00:00:00-00:00":                                   "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00%2B01:00":                                 "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00":                                         "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01":                                                  "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01t00:00:00z":                                        "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01%2000:00:00Z":                                      "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00,5Z":                                      "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00.Z":                                       "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T9:00:00Z":                                         "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-02-30T00:00:00Z":                                        "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T24:00:00Z":                                        "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:60Z":                                        "/dateFrom INVALID_FORMAT",
		"dateFrom=1767225600":                                                  "/dateFrom INVALID_FORMAT",
		"dateFrom=":                                                            "/dateFrom INVALID_FORMAT",
		"dateFrom=0000-01-01T00:00:00Z":                                        "",
		"dateFrom=9999-12-31T23:59:59.9999Z":                                   "",
		"dateTo=9999-12-31T23:59:59.9999Z":                                     "",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-01T00:00:00Z":            "",
		"dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-01T00:00:00Z":        "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00.00011Z&dateTo=2026-03-01T00:00:00.0002Z": "",
		"dateFrom=2026-03-01T00:00:00.0002Z&dateTo=2026-03-01T00:00:00.00011Z": "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00.00020Z&dateTo=2026-03-01T00:00:00.0002Z": "",
	})
}

func expectProblems(t *testing.T, table map[string]string) {
	t.Helper()
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for query, want := range table {
		h.expectProblems("/customer/phone-systems/"+system.String()+"/call-logs?"+query, key, want)
	}
}

func (h *harness) expectProblems(path string, key access.IssuedKey, want string) {
	h.Helper()
	w := h.get(path, withKey(key))
	if want == "" {
		if w.Code != 200 {
			h.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		return
	}
	problem := problemIn(h, w)
	if w.Code != 400 || problem.Code != "VALIDATION_FAILED" || summary(problem.Errors) != want {
		h.Errorf("%s: %d %s, want %s", path, w.Code, summary(problem.Errors), want)
	}
}

func summary(errors []fieldError) string {
	var all []string
	for _, e := range errors {
		all = append(all, e.Pointer+" "+e.Code)
	}
	return strings.Join(all, ", ")
}

// No parameter is known to details and discovery.
func TestParameters_None(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	c := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark)}
	h.calls(system, c)
	key := h.key(system)
	for _, path := range []string{"/customer/phone-systems", "/customer/phone-systems/" + system.String() + "/call-logs/" + c.id.String()} {
		if got := summary(problemIn(t, h.get(path+"?page=1&page=2&x", withKey(key))).Errors); got != "/page UNKNOWN_PARAMETER, /x UNKNOWN_PARAMETER" {
			t.Errorf("%s: %s", path, got)
		}
		if w := h.get(path+"?", withKey(key)); w.Code != 200 {
			t.Errorf("%s with an empty query: %d", path, w.Code)
		}
	}
}

func TestIdentifiers(t *testing.T) {
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
		got := problemIn(t, w)
		if want == "" && w.Code != 404 || want != "" && (w.Code != 400 || summary(got.Errors) != want) {
			t.Errorf("%.60s: %d %s, want %s", path, w.Code, summary(got.Errors), want)
		}
	}
}

func TestPage_Offset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := page{number: rapid.Int64Range(1, 1<<63-1).Draw(t, "page"), size: rapid.Int64Range(1, 100).Draw(t, "size")}
		if g.offset() < 0 || g.offset() != 1<<63-1 && g.offset()/g.size != g.number-1 {
			t.Errorf("offset %d", g.offset())
		}
	})
}

// Whatever the fraction, exactly the whole milliseconds between the two instants are in the window.
func TestParameters_Window(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := make([]string, 2)
		for i := range texts {
			texts[i] = "2026-03-01T09:30:00." + rapid.StringMatching(`00[0-3][0-9]{0,8}`).Draw(t, []string{"one", "other"}[i]) + "Z"
		}
		slices.SortFunc(texts, func(a, b string) int { return at(a).Compare(at(b)) })
		p := parseParameters("dateFrom=" + texts[0] + "&dateTo=" + texts[1])
		w := p.window()
		if p.err() != nil {
			t.Fatal(p.problems)
		}
		for stored := at("2026-03-01T09:29:59.999Z"); stored.Before(at("2026-03-01T09:30:00.006Z")); stored = stored.Add(time.Millisecond) {
			want := !stored.Before(at(texts[0])) && !stored.After(at(texts[1]))
			if got := !stored.Before(w.From) && stored.Before(w.Until); got != want {
				t.Errorf("%s in [%s, %s]: %v", stored, texts[0], texts[1], got)
			}
		}
	})
	if w := parseParameters("").window(); w != query.Always() {
		t.Errorf("without dates: %v", w)
	}
}

// Every filter of every list, as the problems that its values make.
func TestFilters(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	free := func(name string) map[string]string {
		return map[string]string{
			name + "=" + strings.Repeat("%C3%A4", 255): "",
			name + "=" + strings.Repeat("a", 256):      "/" + name + " TOO_LONG",
			name + "=":                                 "/" + name + " INVALID_FORMAT",
			name + "=%00":                              "/" + name + " INVALID_FORMAT",
			name + "=%FF":                              "/" + name + " INVALID_FORMAT",
			name + "=a&" + name + "=b":                 "/" + name + " REPEATED",
			name + "=%27%3B%20--%25_%5C":               "",
		}
	}
	identifier := func(name string) map[string]string {
		return map[string]string{
			name + "=7D9F4C1E-0000-4000-8000-00000000000F":   "",
			name + "=7d9f4c1e000040008000000000000001":       "/" + name + " INVALID_FORMAT",
			name + "=%7B7d9f4c1e-0000-4000-8000-00000001%7D": "/" + name + " INVALID_FORMAT",
			name + "=x": "/" + name + " INVALID_FORMAT",
			name + "=":  "/" + name + " INVALID_FORMAT",
		}
	}
	callSid := map[string]string{
		"callSid=" + strings.Repeat("a", 64): "",
		"callSid=" + strings.Repeat("a", 65): "/callSid TOO_LONG",
		"callSid=":                           "/callSid INVALID_FORMAT",
	}
	dates := map[string]string{
		"dateFrom=2026-03-01": "/dateFrom INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-02-01T00:00:00Z": "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2126-02-01T00:00:00Z": "",
	}
	noDates := map[string]string{"dateTo=2026-02-01T00:00:00Z": "/dateTo UNKNOWN_PARAMETER"}
	for operation, tables := range map[string][]map[string]string{
		"listPhones": {free("status"), identifier("extensionId"), noDates, {
			"extensionId=x&status=&number=1": "/status INVALID_FORMAT, /extensionId INVALID_FORMAT, /number UNKNOWN_PARAMETER",
		}},
		"listPhoneNumbers": {free("status"), free("phoneNumber"), noDates, {
			"phoneNumber=%2B15550001": "",
			"phoneNumber=+15550001":   "/phoneNumber INVALID_FORMAT",
			"phoneNumber=15550001":    "",
			"number=1":                "/number UNKNOWN_PARAMETER",
		}},
		"listExtensions": {free("status"), free("number"), noDates},
		"listAgentConfigs": {noDates, {
			"status=active": "", "status=inactive": "", "status=paused": "", "status=archived": "", "status=testing": "",
			"status=Active":   "/status NOT_ALLOWED",
			"status=released": "/status NOT_ALLOWED",
			"status=":         "/status INVALID_FORMAT",
			"agentNumber=1":   "", "agentNumber=9": "",
			"agentNumber=0":            "/agentNumber TOO_SMALL",
			"agentNumber=10":           "/agentNumber TOO_LARGE",
			"agentNumber=1.0":          "/agentNumber INVALID_FORMAT",
			"agentNumber=x&status=y&z": "/status NOT_ALLOWED, /agentNumber INVALID_FORMAT, /z UNKNOWN_PARAMETER",
		}},
		"listCallGroups":   {free("status"), free("number"), noDates},
		"listCallMenus":    {free("status"), noDates, {"number=1": "/number UNKNOWN_PARAMETER"}},
		"listCallLogs":     {callSid, dates, {"status=completed": "/status UNKNOWN_PARAMETER"}},
		"listCallAnalyses": {callSid, identifier("callLogId"), dates, {"status=completed": "/status UNKNOWN_PARAMETER"}},
		"listVoicemails":   {dates, {"callSid=CA1": "/callSid UNKNOWN_PARAMETER"}},
		"listCallRecordings": {callSid, dates, {
			"status=ready": "", "status=processing": "",
			"status=unavailable": "/status NOT_ALLOWED",
			"status=READY":       "/status NOT_ALLOWED",
			"callLogId=7d9f4c1e-0000-4000-8000-000000000001": "/callLogId UNKNOWN_PARAMETER",
		}},
	} {
		path := operationNamed(t, operation).examplePath(system.String())
		for _, table := range append(tables, map[string]string{"page=0": "/page TOO_SMALL", "pageSize=101": "/pageSize TOO_LARGE"}) {
			for query, want := range table {
				h.expectProblems(path+"?"+query, key, want)
			}
		}
	}
}

// No detail has parameters.
func TestFilters_Details(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for _, o := range register() {
		if strings.HasPrefix(o.ID, "get") && !o.Report {
			h.expectProblems(o.examplePath(system.String())+"?page=1", key, "/page UNKNOWN_PARAMETER")
		}
	}
}
