package readapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page in a browser, with its requests and errors.
type browser struct {
	testing.TB
	ctx      context.Context //nolint:containedctx // the library keeps the browser in it
	mu       sync.Mutex
	requests []string // URLs
	errors   []string // errors, warnings and policy violations in the console
}

// newBrowser starts a browser. It skips the test if there is none.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if !slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	}) {
		t.Skip("no chromium on PATH")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{TB: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.record); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	b.must(err)
	_, err = chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	b.must(err)
	return b
}

func (b *browser) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.errors = append(b.errors, string(e.Type))
	case *log.EventEntryAdded:
		b.errors = append(b.errors, e.Entry.Text)
	}
}

func (b *browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// do runs steps within a minute.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	b.must(chromedp.Do(ctx, steps...))
}

func evaluated[T any](b *browser, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	b.must(err)
	return value
}

// The page shows every operation and its fields, without errors, requests to other servers and an input for a key.
func TestPage_InBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	h := newHarness(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { h.handler.ServeHTTP(w, q) }))
	t.Cleanup(server.Close)

	b.do(chromedp.Navigate(server.URL+"/api/docs"), chromedp.WaitVisible(chromedp.CSS(".opblock")))
	if title := evaluated[string](b, "document.title"); title != "callboard" {
		t.Errorf("title = %q, want callboard", title)
	}
	shown := evaluated[[]string](b, "[...document.querySelectorAll('.opblock-summary-operation-id')].map(e => e.textContent)")
	var ids []string
	for _, o := range allOperations() {
		ids = append(ids, o.ID)
	}
	if !slices.Equal(slices.Sorted(slices.Values(shown)), slices.Sorted(slices.Values(ids))) {
		t.Errorf("operations = %v, want %v", shown, ids)
	}

	const detail = "#operations-Call_logs-getCallLog"
	b.do(chromedp.Click(chromedp.CSS(detail+" .opblock-summary-control")), chromedp.WaitVisible(chromedp.CSS(detail+" .responses-table")),
		chromedp.WaitVisible(chromedp.CSS(detail+" .json-schema-2020-12-property")))
	text := evaluated[string](b, "document.querySelector('"+detail+"').innerText")
	for _, want := range []string{"callLogId", "calls:read", "transcriptionStatus", "unavailable", "parentCallSid", "Data-Complete-Through", "NOT_FOUND"} {
		if !strings.Contains(text, want) {
			t.Errorf("operation = %s, want it to show %s", text, want)
		}
	}

	const fields = "[...document.querySelectorAll('input, textarea, select, [contenteditable]')].map(e => e.type)"
	if inputs := evaluated[[]string](b, fields); !slices.Equal(inputs, []string{"search"}) {
		t.Errorf("inputs = %v, want only the filter", inputs)
	}
	if buttons := evaluated[int](b, "document.querySelectorAll('.authorize, .authorization__btn, .try-out').length"); buttons != 0 {
		t.Errorf("buttons to authorize or try out = %d, want 0", buttons)
	}

	b.do(chromedp.SendKeys(chromedp.CSS(".filter-operations"), "signed"), chromedp.WaitNotPresent(chromedp.CSS(detail)))
	if left := evaluated[int](b, "document.querySelectorAll('.opblock').length"); left != 1 {
		t.Errorf("operations for the filter \"signed\" = %d, want 1", left)
	}
	b.expectNoErrors(server.URL)
}

// expectNoErrors checks that the console has no errors, and that all requests went to the server.
func (b *browser) expectNoErrors(server string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.Errorf("console = %q, want nothing", b.errors)
	}
	if len(b.requests) < 6 {
		b.Errorf("requests = %q, want at least 6", b.requests)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, server+"/") && !strings.HasPrefix(url, "data:") {
			b.Errorf("request = %s, want one to %s", url, server)
		}
	}
}
