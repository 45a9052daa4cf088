package readapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"callboard/events/eventstest/browser"
)

// The page shows every operation and its fields, without errors, requests to other servers and an input for a key.
func TestPage_InBrowser(t *testing.T) {
	t.Parallel()
	b := browser.New(t)
	h := newHarness(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { h.handler.ServeHTTP(w, q) }))
	t.Cleanup(server.Close)

	b.Do(chromedp.Navigate(server.URL+"/api/docs"), chromedp.WaitVisible(chromedp.CSS(".opblock")))
	if title := browser.Evaluate[string](b, "document.title"); title != "callboard" {
		t.Errorf("title = %q, want callboard", title)
	}
	shown := browser.Evaluate[[]string](b, "[...document.querySelectorAll('.opblock-summary-operation-id')].map(e => e.textContent)")
	var ids []string
	for _, o := range allOperations() {
		ids = append(ids, o.ID)
	}
	if !slices.Equal(slices.Sorted(slices.Values(shown)), slices.Sorted(slices.Values(ids))) {
		t.Errorf("operations = %v, want %v", shown, ids)
	}

	const detail = "#operations-Call_logs-getCallLog"
	b.Do(chromedp.Click(chromedp.CSS(detail+" .opblock-summary-control")), chromedp.WaitVisible(chromedp.CSS(detail+" .responses-table")),
		chromedp.WaitVisible(chromedp.CSS(detail+" .json-schema-2020-12-property")))
	text := browser.Evaluate[string](b, "document.querySelector('"+detail+"').innerText")
	for _, want := range []string{"callLogId", "calls:read", "transcriptionStatus", "unavailable", "parentCallSid", "Data-Complete-Through", "NOT_FOUND"} {
		if !strings.Contains(text, want) {
			t.Errorf("operation = %s, want it to show %s", text, want)
		}
	}

	const fields = "[...document.querySelectorAll('input, textarea, select, [contenteditable]')].map(e => e.type)"
	if inputs := browser.Evaluate[[]string](b, fields); !slices.Equal(inputs, []string{"search"}) {
		t.Errorf("inputs = %v, want only the filter", inputs)
	}
	if buttons := browser.Evaluate[int](b, "document.querySelectorAll('.authorize, .authorization__btn, .try-out').length"); buttons != 0 {
		t.Errorf("buttons to authorize or try out = %d, want 0", buttons)
	}

	b.Do(chromedp.SendKeys(chromedp.CSS(".filter-operations"), "signed"), chromedp.WaitNotPresent(chromedp.CSS(detail)))
	if left := browser.Evaluate[int](b, "document.querySelectorAll('.opblock').length"); left != 1 {
		t.Errorf("operations for the filter \"signed\" = %d, want 1", left)
	}
	b.RequireNoErrors(server.URL, 6)
}
