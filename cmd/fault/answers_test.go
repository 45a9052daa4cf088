package fault_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/audit"
	"callboard/readapi/limit"
)

// twins are a reader of the database that suffered and one of the replay. Both are asked the same, and must answer the same.
type twins struct {
	tb       testing.TB
	live     http.Handler
	replayed http.Handler
	each     int // of so many rows one is asked for in detail
	rows     int
	requests int
	digests  map[string]hash.Hash // of all answers, by operation
	differ   map[string]int
}

// plenty is a budget that nobody uses up.
const plenty = 1_000_000

// compareAnswers reads all that the databases have by every operation, up to an instant that both have passed, and the details of
// one row of so many.
func (s *stage) compareAnswers(at time.Time, each int) (requests int, digest string) {
	s.tb.Helper()
	limiter, err := limit.New(limit.Config{JetStream: s.js, Report: plenty, Standard: plenty, Premium: plenty, DecisionTimeout: patience})
	if err != nil {
		s.tb.Fatal(err)
	}
	journal, err := audit.NewQueue(audit.Config{JetStream: s.js, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.tb.Context())
	var actors sync.WaitGroup
	for _, run := range []func(context.Context) error{limiter.Run, journal.Run} {
		actors.Go(func() {
			if err := run(ctx); err != nil {
				s.tb.Error(err)
			}
		})
	}
	defer actors.Wait()
	defer cancel()
	t := &twins{
		tb: s.tb, live: s.handler(live, limiter, journal), replayed: s.handler(replayed, limiter, journal),
		each: each, digests: map[string]hash.Hash{}, differ: map[string]int{},
	}
	t.everything(s.keyring, s.feed.systems(), at)
	if len(t.digests) != operations {
		s.tb.Errorf("%d operations were asked for, want %d", len(t.digests), operations)
	}
	return t.requests, t.digest()
}

func (s *stage) handler(database string, limiter *limit.Limiter, journal *audit.Queue) http.Handler {
	s.tb.Helper()
	location, err := audio.ParseLocation("file://" + s.audio)
	if err != nil {
		s.tb.Fatal(err)
	}
	handler, err := readapi.New(readapi.Config{
		Primary: s.postgres.pool(s.postgres.roleURL(readerRole, database), ""), Peppers: []access.Pepper{s.pepper()},
		Limiter: limiter, AuditQueue: journal, Secret: s.secret, Audio: location, BaseURL: baseURL, Timeout: patience, Log: zerolog.Nop(),
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return handler
}

func (t *twins) everything(keys *keyring, systems []uuid.UUID, at time.Time) {
	t.tb.Helper()
	t.get("listAccessiblePhoneSystems", "", keys.group)
	t.get("listAccessiblePhoneSystems", "", keys.organization)
	for _, system := range systems {
		home, key := "/"+system.String(), keys.systems[system]
		t.get("listAccessiblePhoneSystems", "", key)
		for _, r := range resources() {
			t.list(r, home, key)
		}
		for _, r := range resources()[6:8] { // calls and analyses, which a key can be narrowed to
			t.list(r, home, keys.narrowed[system])
		}
		t.get("getCallLogReportDimensions", home+"/call-log-reports/dimensions", key)
		for _, field := range []string{"createdAt", "updatedAt"} {
			t.report(home, key, url.Values{"timeField": {field}, "limit": {"100"}}, at)
		}
		t.report(home, key, url.Values{"includeTranscripts": {"true"}, "limit": {"25"}}, at)
	}
}

// list reads a list to its end, and rows' details.
func (t *twins) list(r resource, home string, key access.Key) {
	t.tb.Helper()
	pages := 1
	for page := 1; page <= pages; page++ {
		var got listPage
		body := t.get(r.list, fmt.Sprintf("%s/%s?pageSize=100&page=%d", home, r.path, page), key)
		if err := json.Unmarshal(body, &got); err != nil {
			t.tb.Fatalf("%s: %v", r.list, err)
		}
		pages = got.TotalPages
		for _, row := range got.Data {
			if t.rows++; t.rows%t.each != 0 {
				continue
			}
			t.get(r.detail, home+"/"+r.path+"/"+row.name(), key)
			if row.RecordingSid != "" {
				t.get("getCallRecordingUrl", home+"/"+r.path+"/"+row.name()+"/url", key)
			}
		}
	}
}

// report reads a window that both have passed to its end.
func (t *twins) report(home string, key access.Key, values url.Values, at time.Time) {
	t.tb.Helper()
	values.Set("dateFrom", "2020-01-01T00:00:00Z")
	values.Set("dateTo", at.UTC().Format(time.RFC3339Nano))
	for more := true; more; {
		var page reportPage
		body := t.get("listCallLogReports", home+"/call-log-reports?"+values.Encode(), key)
		if err := json.Unmarshal(body, &page); err != nil {
			t.tb.Fatalf("reports: %v", err)
		}
		more = page.HasMore
		values.Set("cursor", page.NextCursor)
	}
}

// get asks both, and returns what the first has answered.
func (t *twins) get(operation, path string, key access.Key) []byte {
	t.tb.Helper()
	t.requests++
	var here, there *httptest.ResponseRecorder
	var both sync.WaitGroup
	both.Go(func() { here = t.ask(t.live, path, key) })
	both.Go(func() { there = t.ask(t.replayed, path, key) })
	both.Wait()
	first, second := essence(operation, here), essence(operation, there)
	if first != second {
		if t.differ[operation]++; t.differ[operation] <= 2 {
			t.tb.Errorf("%s %s\nwhat suffered: %.1500s\na replay:      %.1500s", operation, path, first, second)
		}
	}
	if here.Code == http.StatusInternalServerError || here.Code == http.StatusServiceUnavailable {
		t.tb.Fatalf("%s %s: %s", operation, path, first)
	}
	if t.digests[operation] == nil {
		t.digests[operation] = sha256.New()
	}
	_, _ = t.digests[operation].Write([]byte(path + first))
	return here.Body.Bytes()
}

func (t *twins) ask(handler http.Handler, path string, key access.Key) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(t.tb.Context(), http.MethodGet, baseURL+"/customer/phone-systems"+path, nil)
	request.Header.Set("X-API-Key", key.Reveal())
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// stamps are members that are of the answer and not of the data, and a problem's.
var stamps = regexp.MustCompile(`"(nextCursor|generatedAt|correlationId|instance)":"[^"]*"`)

// essence is what must be the same in two answers.
func essence(operation string, answer *httptest.ResponseRecorder) string {
	header := answer.Header()
	body := answer.Body.String()
	if operation == "getCallRecordingUrl" && answer.Code == http.StatusOK {
		body = "a link"
	}
	return fmt.Sprintf("%d ETag %s Link %s Cache-Control %s Content-Type %s\n%s", answer.Code, header.Get("ETag"), header.Get("Link"),
		header.Get("Cache-Control"), header.Get("Content-Type"), stamps.ReplaceAllString(body, `"$1":""`))
}

// digest is of all operations' answers.
func (t *twins) digest() string {
	whole := sha256.New()
	for _, operation := range slices.Sorted(maps.Keys(t.digests)) {
		_, _ = whole.Write(t.digests[operation].Sum(nil))
	}
	return hex.EncodeToString(whole.Sum(nil)[:8])
}
