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

// browser is a page in a real browser, and what happened in it.
type browser struct {
	testing.TB
	ctx      context.Context //nolint:containedctx // it is the browser: the library keeps it there
	mu       sync.Mutex
	requests []string // URLs
	faults   []string // errors, warnings and violations of the policy, as the console has them
}

// newBrowser starts a browser, where there is one.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if !slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	}) {
		t.Skip("no chromium on PATH: the page is not tested")
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
	if err := chromedp.Listen(ctx, b.note); err != nil {
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

func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, string(e.Type))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text)
	}
}

func (b *browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// do performs steps that end when the page is as they want it.
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

// The page shows every operation and its fields in a browser that can reach nothing but this server, without a fault, and has
// no place for a key.
func TestPage(t *testing.T) {
	b := newBrowser(t)
	h := newHarness(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { h.handler.ServeHTTP(w, q) }))
	t.Cleanup(server.Close)

	b.do(chromedp.Navigate(server.URL+"/api/docs"), chromedp.WaitVisible(chromedp.CSS(".opblock")))
	if title := evaluated[string](b, "document.title"); title != "callboard" {
		t.Errorf("title %q", title)
	}
	shown := evaluated[[]string](b, "[...document.querySelectorAll('.opblock-summary-operation-id')].map(e => e.textContent)")
	var ids []string
	for _, o := range register() {
		ids = append(ids, o.ID)
	}
	if !slices.Equal(slices.Sorted(slices.Values(shown)), slices.Sorted(slices.Values(ids))) {
		t.Errorf("shown are %v", shown)
	}

	const detail = "#operations-Call_logs-getCallLog"
	b.do(chromedp.Click(chromedp.CSS(detail+" .opblock-summary-control")), chromedp.WaitVisible(chromedp.CSS(detail+" .responses-table")),
		chromedp.WaitVisible(chromedp.CSS(detail+" .json-schema-2020-12-property")))
	text := evaluated[string](b, "document.querySelector('"+detail+"').innerText")
	for _, want := range []string{"callLogId", "calls:read", "transcriptionStatus", "unavailable", "parentCallSid", "Data-Complete-Through", "NOT_FOUND"} {
		if !strings.Contains(text, want) {
			t.Errorf("the operation does not show %s: %s", want, text)
		}
	}

	const fields = "[...document.querySelectorAll('input, textarea, select, [contenteditable]')].map(e => e.type)"
	if places := evaluated[[]string](b, fields); !slices.Equal(places, []string{"search"}) {
		t.Errorf("what can be typed into: %v, want the filter alone", places)
	}
	if buttons := evaluated[int](b, "document.querySelectorAll('.authorize, .authorization__btn, .try-out').length"); buttons != 0 {
		t.Errorf("%d buttons to authorize or try out", buttons)
	}

	b.do(chromedp.SendKeys(chromedp.CSS(".filter-operations"), "signed"), chromedp.WaitNotPresent(chromedp.CSS(detail)))
	if left := evaluated[int](b, "document.querySelectorAll('.opblock').length"); left != 1 {
		t.Errorf("%d operations are about something signed", left)
	}
	b.quiet(server.URL)
}

// quiet fails the test for a fault, and for a request to anything but the server.
func (b *browser) quiet(server string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		b.Errorf("the console has %q", b.faults)
	}
	if len(b.requests) < 6 {
		b.Errorf("only %q were asked for", b.requests)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, server+"/") && !strings.HasPrefix(url, "data:") {
			b.Errorf("asked for %s", url)
		}
	}
}
