package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page shows every operation and its fields, without errors, requests to other servers and an input for a key.
func TestDocs_InBrowser(t *testing.T) {
	b, url := newPage(t), newHarness(t).api.URL
	b.do(chromedp.Navigate(url+"/docs"), chromedp.WaitVisible(chromedp.CSS(".opblock")))
	if title := evaluate[string](b, "document.title"); title != "callboard" {
		t.Errorf("title = %q, want callboard", title)
	}
	shown := evaluate[[]string](b, "[...document.querySelectorAll('.opblock-summary-operation-id')].map(e => e.textContent)")
	if slices.Sort(shown); len(slices.Compact(shown)) != 24 {
		t.Errorf("operations = %v, want 24", shown)
	}

	const detail = "#operations-Call_logs-getCallLog"
	b.do(chromedp.Click(chromedp.CSS(detail+" .opblock-summary-control")), chromedp.WaitVisible(chromedp.CSS(detail+" .responses-table")),
		chromedp.WaitVisible(chromedp.CSS(detail+" .json-schema-2020-12-property")))
	text := evaluate[string](b, "document.querySelector('"+detail+"').innerText")
	for _, want := range []string{"callLogId", "calls:read", "transcriptionStatus", "unavailable", "parentCallSid", "Data-Complete-Through", "NOT_FOUND"} {
		if !strings.Contains(text, want) {
			t.Errorf("operation = %s, want it to show %s", text, want)
		}
	}

	const fields = "[...document.querySelectorAll('input, textarea, select, [contenteditable]')].map(e => e.type)"
	if inputs := evaluate[[]string](b, fields); !slices.Equal(inputs, []string{"search"}) {
		t.Errorf("inputs = %v, want only the filter", inputs)
	}
	if buttons := evaluate[int](b, "document.querySelectorAll('.authorize, .authorization__btn, .try-out').length"); buttons != 0 {
		t.Errorf("buttons to authorize or try out = %d, want 0", buttons)
	}

	b.do(chromedp.SendKeys(chromedp.CSS(".filter-operations"), "signed"), chromedp.WaitNotPresent(chromedp.CSS(detail)))
	if left := evaluate[int](b, "document.querySelectorAll('.opblock').length"); left != 1 {
		t.Errorf("operations for the filter \"signed\" = %d, want 1", left)
	}
	b.requireNoErrors(url, 6)
}
