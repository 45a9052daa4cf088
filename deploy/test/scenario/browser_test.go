package scenario_test

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
)

// page is a page in a browser, with its requests and errors.
type page struct {
	testing.TB
	ctx      context.Context //nolint:containedctx // the library keeps the browser in it
	mu       sync.Mutex
	requests []string // URLs
	errors   []string // errors, warnings and policy violations in the console
}

// newPage starts a browser, which ends with the test. It skips the test if there is none.
func newPage(t *testing.T) *page {
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
	p := &page{TB: t, ctx: ctx}
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

func (p *page) record(event any) {
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

func (p *page) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// do runs steps within a minute.
func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	p.must(chromedp.Do(ctx, steps...))
}

// evaluate returns the value of an expression.
func evaluate[T any](p *page, expression string, options ...chromedp.EvaluateOption) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, options...))
	p.must(err)
	return value
}

// call runs a command of the browser's protocol.
func call[P, R any](p *page, command cdp.Command[P, R], parameters P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, parameters)
	p.must(err)
	return result
}

// requireNoErrors leaves the page and fails the test unless the browser's console is empty, there were at least
// this many requests, and all of them went to the server. It forgets what it has checked.
func (p *page) requireNoErrors(server string, requests int) {
	p.Helper()
	p.do(chromedp.Navigate("about:blank")) // a page that stays open can make a request after the check
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
