// Package browser gives tests a page in a real browser.
package browser

import (
	"context"
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

	"callboard/events/eventstest"
)

// Page is a page in a browser, with its requests and errors.
type Page struct {
	testing.TB
	Ctx      context.Context //nolint:containedctx // the library keeps the browser in it
	mu       sync.Mutex
	requests []string // URLs
	errors   []string // errors, warnings and policy violations in the console
}

// New starts a browser, which ends with the test. It skips the test if there is none, or unless long tests are wanted.
func New(t *testing.T) *Page {
	t.Helper()
	eventstest.Long(t)
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
	p := &Page{TB: t, Ctx: ctx}
	if err := chromedp.Listen(ctx, p.record); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	p.must(err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	p.must(err)
	_, err = chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	p.must(err)
	return p
}

func (p *Page) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.errors = append(p.errors, string(e.Type))
	case *log.EventEntryAdded:
		p.errors = append(p.errors, e.Entry.Text)
	}
}

func (p *Page) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// Do runs steps within a minute.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, time.Minute)
	defer cancel()
	p.must(chromedp.Do(ctx, steps...))
}

// Evaluate returns the value of an expression.
func Evaluate[T any](p *Page, expression string, options ...chromedp.EvaluateOption) T {
	p.Helper()
	value, err := chromedp.Run(p.Ctx, chromedp.Evaluate[T](expression, options...))
	p.must(err)
	return value
}

// Call runs a command of the browser's protocol.
func Call[P, R any](p *Page, command cdp.Command[P, R], parameters P) R {
	p.Helper()
	result, err := chromedp.Call(p.Ctx, command, parameters)
	p.must(err)
	return result
}

// RequireNoErrors leaves the page and fails the test unless the browser's console is empty, there were at least
// this many requests, and all of them went to the server. It forgets what it has checked.
func (p *Page) RequireNoErrors(server string, requests int) {
	p.Helper()
	p.Do(chromedp.Navigate("about:blank")) // a page that stays open can make a request after the check
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errors) > 0 {
		p.Errorf("console = %q, want nothing", p.errors)
	}
	if len(p.requests) < requests {
		p.Errorf("requests = %q, want at least %d", p.requests, requests)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, server+"/") && !strings.HasPrefix(url, "data:") {
			p.Errorf("request = %s, want one to %s", url, server)
		}
	}
	p.errors, p.requests = nil, nil
}
