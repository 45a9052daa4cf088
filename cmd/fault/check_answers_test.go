package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/events/eventstest"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/audit"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

// answerComparison sends the same requests to a reader of the live database and to one of the replay.
type answerComparison struct {
	tb          testing.TB
	live        http.Handler
	replay      http.Handler
	detailEvery int // the details of a page's first row and of every n-th row are requested
	rows        int
	requests    map[string]int // by operation
	different   map[string]int // by operation
}

const (
	unlimited     = 1_000_000   // a budget that no test exhausts
	slowestAnswer = time.Minute // on a busy machine
)

// compareAnswers compares the answers of every operation about all data up to an instant, with the details of a page's first row and of
// every n-th row.
func (h *harness) compareAnswers(at time.Time, detailEvery int) (requests int) {
	h.tb.Helper()
	limiter, err := limit.New(limit.Config{JetStream: h.js, Report: unlimited, Standard: unlimited, Premium: unlimited, Timeout: slowestAnswer})
	if err != nil {
		h.tb.Fatal(err)
	}
	queue, err := audit.NewQueue(audit.Config{JetStream: h.js, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		h.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.tb.Context())
	var actors sync.WaitGroup
	for _, run := range []func(context.Context) error{limiter.Run, queue.Run} {
		actors.Go(func() {
			if err := run(ctx); err != nil {
				h.tb.Error(err)
			}
		})
	}
	defer actors.Wait()
	defer cancel()
	c := &answerComparison{
		tb: h.tb, live: h.handler(liveDatabase, limiter, queue), replay: h.handler(replayDatabase, limiter, queue),
		detailEvery: detailEvery, requests: map[string]int{}, different: map[string]int{},
	}
	c.compareAll(h.keys, h.load.systems(), at)
	if len(c.requests) != operations {
		h.tb.Errorf("compared operations = %d, want %d", len(c.requests), operations)
	}
	for _, n := range c.requests {
		requests += n
	}
	return requests
}

func (h *harness) handler(database string, limiter *limit.Limiter, queue *audit.Queue) http.Handler {
	h.tb.Helper()
	location, err := audio.ParseLocation("file://" + h.audio)
	if err != nil {
		h.tb.Fatal(err)
	}
	settings := connection.ReaderSettings(map[string]string{"statement_timeout": strconv.FormatInt(slowestAnswer.Milliseconds(), 10)})
	primary := schematest.OpenPool(h.tb, h.postgres.roleURL(readerRole, database), func(c *pgxpool.Config) {
		maps.Copy(c.ConnConfig.RuntimeParams, settings)
	})
	handler, err := readapi.New(readapi.Config{
		Primary: primary, Peppers: []access.Pepper{h.pepper()},
		Limiter: limiter, AuditQueue: queue, Secret: h.secret, Audio: location, BaseURL: baseURL, Timeout: slowestAnswer, DimensionsTimeout: slowestAnswer,
		Log: zerolog.New(zerolog.NewTestWriter(h.tb)).Level(zerolog.WarnLevel), // which says why a request is refused
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	return handler
}

func (c *answerComparison) compareAll(keys *keySet, systems []uuid.UUID, at time.Time) {
	c.tb.Helper()
	c.compare("listAccessiblePhoneSystems", "", keys.group)
	c.compare("listAccessiblePhoneSystems", "", keys.organization)
	for _, system := range systems {
		base, key := "/"+system.String(), keys.systems[system]
		c.compare("listAccessiblePhoneSystems", "", key)
		for _, r := range resources() {
			c.compareList(r, base, key)
			if r.path == "call-logs" || r.path == "call-analyses" { // a key can be narrowed to these
				c.compareList(r, base, keys.narrowed[system])
			}
		}
		c.compare("getCallLogReportDimensions", base+"/call-log-reports/dimensions", key)
		for _, field := range []string{"createdAt", "updatedAt"} {
			c.compareReport(base, key, url.Values{"timeField": {field}, "limit": {"100"}}, at)
		}
		c.compareReport(base, key, url.Values{"includeTranscripts": {"true"}, "limit": {"25"}}, at)
	}
}

// compareList compares all pages of a list, and details of its rows.
func (c *answerComparison) compareList(r resource, base string, key access.Key) {
	c.tb.Helper()
	pages := 1
	for number := 1; number <= pages; number++ {
		var page listPage
		body := c.compare(r.list, fmt.Sprintf("%s/%s?pageSize=100&page=%d", base, r.path, number), key)
		if err := json.Unmarshal(body, &page); err != nil {
			c.tb.Fatalf("%s: %v", r.list, err)
		}
		pages = page.TotalPages
		for i, row := range page.Data {
			if c.rows++; i > 0 && c.rows%c.detailEvery != 0 {
				continue
			}
			path := base + "/" + r.path + "/" + row.id()
			c.compare(r.detail, path, key)
			if row.RecordingSid != "" {
				c.compare("getCallRecordingUrl", path+"/url", key)
			}
		}
	}
}

// compareReport compares all pages of a report up to an instant that the watermarks have passed.
func (c *answerComparison) compareReport(base string, key access.Key, values url.Values, at time.Time) {
	c.tb.Helper()
	values.Set("dateFrom", "2020-01-01T00:00:00Z")
	values.Set("dateTo", at.UTC().Format(time.RFC3339Nano))
	for more := true; more; {
		var page reportPage
		body := c.compare("listCallLogReports", base+"/call-log-reports?"+values.Encode(), key)
		if err := json.Unmarshal(body, &page); err != nil {
			c.tb.Fatalf("reports: %v", err)
		}
		more = page.HasMore
		values.Set("cursor", page.NextCursor)
	}
}

// compare compares two answers, and returns the body of the live one.
func (c *answerComparison) compare(operation, path string, key access.Key) []byte {
	c.tb.Helper()
	c.requests[operation]++
	var live, replay *httptest.ResponseRecorder
	// What is compared is the answers, not how fast they are: on a busy machine, a statement can exceed its time.
	eventstest.Eventually(c.tb, "answers to "+path, func() bool {
		var both sync.WaitGroup
		both.Go(func() { live = c.request(c.live, path, key) })
		both.Go(func() { replay = c.request(c.replay, path, key) })
		both.Wait()
		return live.Code != http.StatusServiceUnavailable && replay.Code != http.StatusServiceUnavailable
	})
	got, want := comparablePart(operation, live), comparablePart(operation, replay)
	if got != want {
		if c.different[operation]++; c.different[operation] <= 2 {
			c.tb.Errorf("%s %s\ngot:  %.1500s\nwant: %.1500s", operation, path, got, want)
		}
	}
	if live.Code == http.StatusInternalServerError {
		c.tb.Fatalf("%s %s: %s", operation, path, got)
	}
	return live.Body.Bytes()
}

func (c *answerComparison) request(handler http.Handler, path string, key access.Key) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(c.tb.Context(), http.MethodGet, baseURL+"/customer/phone-systems"+path, nil)
	request.Header.Set("X-API-Key", key.Reveal())
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// perAnswer matches members that differ in every answer.
var perAnswer = regexp.MustCompile(`"(nextCursor|generatedAt|correlationId|instance)":"[^"]*"`)

// comparablePart returns what must be equal in two answers.
func comparablePart(operation string, r *httptest.ResponseRecorder) string {
	header := r.Header()
	body := r.Body.String()
	if operation == "getCallRecordingUrl" && r.Code == http.StatusOK {
		body = "a signed URL"
	}
	return fmt.Sprintf("%d ETag %s Link %s Cache-Control %s Content-Type %s\n%s", r.Code, header.Get("ETag"), header.Get("Link"),
		header.Get("Cache-Control"), header.Get("Content-Type"), perAnswer.ReplaceAllString(body, `"$1":""`))
}
