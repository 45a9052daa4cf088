package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"callboard/events/eventstest/browser"
)

// screenshotsVariable names the folder in which screenshots are kept, for people to look at.
const screenshotsVariable = "CALLBOARD_TEST_SCREENSHOTS"

// The page is legible, named and free of errors at every width and in both color schemes, and what publishers sent
// stays text.
func TestPage_InBrowser(t *testing.T) {
	t.Parallel()
	p := browser.New(t)
	now := time.Now()
	calm, none := reportOf(now, 64), reportOf(now, 0)
	for _, c := range []struct {
		name       string
		looks      int
		snapshot   snapshot
		partitions int // rows
		lag        float64
		want       []string
	}{
		{"problems", 4, problemSnapshot(now), 16, 140, []string{
			"Needs attention", "STREAM_REGRESSED", "callboard rebuild --abandon", "The command shows its progress", "1,840", "1,204 open",
		}},
		{"calm", 2, snapshot{report: &calm, readAt: now}, 64, 3, []string{"Nothing needs attention", "6,600,311", "There are none."}},
		{"server-down", 2, failedSnapshot(now), 16, 140, []string{
			"The report could not be read: failed to connect", "The page shows the report of", "STREAM_REGRESSED",
		}},
		{"no-report", 2, snapshot{failure: failedSnapshot(now).failure}, 0, 0, []string{
			"No report could be read since this projector started.", "failed to connect", "There is no sample yet.",
		}},
		{"no-partitions", 2, snapshot{report: &none, readAt: now}, 0, 0, []string{"The stream has no partitions."}},
	} {
		url := serve(t, c.snapshot, func(h *history) {
			if c.lag > 0 {
				hour(h, now, c.lag)
			}
		})
		for _, look := range []struct {
			width  int64
			scheme string
		}{{400, "light"}, {1600, "dark"}, {400, "dark"}, {1600, "light"}}[:c.looks] {
			resize(p, look.width, look.scheme)
			p.Do(chromedp.Navigate(url))
			browser.Evaluate[bool](p, "document.querySelectorAll('details').forEach((d, i) => d.open = i < 3), true")
			name := fmt.Sprintf("%s-%d-%s", c.name, look.width, look.scheme)
			requireLegible(p, name)
			requireNames(p, name)
			keepScreenshot(p, name)
		}
		text := browser.Evaluate[string](p, "document.body.innerText")
		for _, want := range c.want {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
				t.Errorf("%s: text = %.3000s, want it to contain %q", c.name, text, want)
			}
		}
		if rows := browser.Evaluate[int](p, "document.querySelectorAll('.partitions tbody tr').length"); rows != c.partitions {
			t.Errorf("%s: partitions = %d, want %d", c.name, rows, c.partitions)
		}
		p.RequireNoErrors(url, 1)
	}
}

// Markup of publishers is neither run nor rendered.
func TestPage_HostileDeadLetters(t *testing.T) {
	t.Parallel()
	p := browser.New(t)
	now := time.Now()
	url := serve(t, problemSnapshot(now), func(*history) {})
	p.Do(chromedp.Navigate(url))
	browser.Evaluate[bool](p, "document.querySelectorAll('details').forEach(d => d.open = true), true")
	if title := browser.Evaluate[string](p, "document.title"); title != "callboard console" {
		t.Errorf("title = %q, want callboard console", title)
	}
	const elements = "document.querySelectorAll('#dead-letters :is(script, img, b, i, a, iframe, style)').length"
	if n := browser.Evaluate[int](p, elements); n != 0 {
		t.Errorf("elements of publishers = %d, want 0", n)
	}
	text := browser.Evaluate[string](p, "document.querySelector('#dead-letter-4203').innerText")
	for _, want := range []string{
		"phones.3.<b>x</b>.call", "<script>document.title='reason'</script>", `\u202egnp.exe`, "callboard dead-letters retry 4203",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("dead letter = %s, want it to contain %s", text, want)
		}
	}
	p.RequireNoErrors(url, 1)
}

// Tab reaches what can be used, in the order of the page, and Enter opens a dead letter.
func TestPage_Keyboard(t *testing.T) {
	t.Parallel()
	p := browser.New(t)
	now := time.Now()
	p.Do(chromedp.Navigate(serve(t, problemSnapshot(now), func(*history) {})))
	const focused = "(e => e.id || e.parentElement.id || e.ariaLabel || e.className)(document.activeElement)"
	var reached []string
	for range 60 {
		p.Do(chromedp.KeyEvent(kb.Tab))
		name := browser.Evaluate[string](p, focused)
		reached = append(reached, name)
		if width := browser.Evaluate[string](p, "getComputedStyle(document.activeElement).outlineStyle"); width != "solid" {
			t.Errorf("focus on %s: outline = %s, want a solid one", name, width)
		}
		if name == "dead-letter-4204" {
			break
		}
	}
	want := []string{"pause", "Copy: callboard rebuild", "Copy: callboard status --watch", "Copy: callboard rollback", "dead-letter-4204"}
	last := -1
	for _, name := range want {
		i := slices.Index(reached, name)
		if i <= last {
			t.Errorf("focus order = %q, want %s after %d", reached, name, last)
		}
		last = i
	}
	p.Do(chromedp.KeyEvent(kb.Enter))
	if open := browser.Evaluate[bool](p, "document.querySelector('#dead-letter-4204').open"); !open {
		t.Error("Enter did not open the dead letter")
	}
}

// A refresh replaces what has changed. What was open stays open, what had the focus keeps it, and a selection is
// not lost.
func TestPage_Refresh(t *testing.T) {
	t.Parallel()
	p := browser.New(t)
	now := time.Now()
	c := newFixture(t, problemSnapshot(now))
	url := serveConsole(t, c)
	p.Do(chromedp.Navigate(url))
	show := func(s snapshot) {
		c.cache.mu.Lock()
		c.cache.last = s
		c.cache.mu.Unlock()
		browser.Evaluate[bool](p, "refresh().then(() => true)", chromedp.EvalAwaitPromise)
	}
	value := func() string {
		return browser.Evaluate[string](p, "String(document.querySelectorAll('.partitions tbody tr').length)")
	}
	// The page's own refreshes could show what was there before.
	browser.Evaluate[bool](p, "(() => { for (let timer = setTimeout(() => {}); timer > 0; timer--) clearInterval(timer); return true })()")
	browser.Evaluate[bool](p, "(d => { d.open = true; d.querySelector('summary').focus(); return true })(document.querySelector('#dead-letter-4203'))")
	changed := problemSnapshot(now)
	changed.report.Partitions = changed.report.Partitions[:12]
	changed.deadLetters[1].Reason = "Something else."
	show(changed)
	if got := value(); got != "12" {
		t.Errorf("partitions after a refresh = %s, want 12", got)
	}
	const kept = "(d => d.open && document.activeElement === d.querySelector('summary') && d.innerText.includes('Something else.'))(document.querySelector('#dead-letter-4203'))"
	if !browser.Evaluate[bool](p, kept) {
		t.Error("the open dead letter was closed, lost the focus or was not replaced")
	}
	browser.Evaluate[bool](p, "getSelection().selectAllChildren(document.querySelector('.command code')), true")
	show(problemSnapshot(now))
	if got := value(); got != "12" {
		t.Errorf("partitions after a refresh with selected text = %s, want 12", got)
	}
	browser.Evaluate[bool](p, "getSelection().removeAllRanges(), document.getElementById('pause').click(), true")
	show(problemSnapshot(now))
	if got := value(); got != "12" {
		t.Errorf("partitions after a refresh while paused = %s, want 12", got)
	}
	browser.Evaluate[bool](p, "document.getElementById('pause').click(), true")
	show(problemSnapshot(now))
	if got := value(); got != "16" {
		t.Errorf("partitions after the pause = %s, want 16", got)
	}
	p.RequireNoErrors(url, 3)
}

// Without script the page has everything but the buttons, and says how to refresh it.
func TestPage_WithoutScript(t *testing.T) {
	t.Parallel()
	p := browser.New(t)
	now := time.Now()
	browser.Call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.Do(chromedp.Navigate(serve(t, problemSnapshot(now), func(h *history) { hour(h, now, 140) })))
	browser.Call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{})
	text := browser.Evaluate[string](p, "document.body.innerText")
	for _, want := range []string{"Reload the page to refresh it.", "STREAM_REGRESSED", "callboard rollback", "1,204 open"} {
		if !strings.Contains(text, want) {
			t.Errorf("text = %.3000s, want it to contain %q", text, want)
		}
	}
	if shown := browser.Evaluate[int](p, "[...document.querySelectorAll('button')].filter(b => b.checkVisibility()).length"); shown != 0 {
		t.Errorf("buttons = %d, want 0", shown)
	}
	if length := browser.Evaluate[int](p, "document.querySelector('#lag .line').getTotalLength()|0"); length < 500 {
		t.Errorf("length of the chart's line = %d, want 500 or more", length)
	}
	keepScreenshot(p, "without-script")
}

func resize(p *browser.Page, width int64, scheme string) {
	p.Helper()
	browser.Call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 1000, DeviceScaleFactor: 1})
	browser.Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// illegible lists the texts whose contrast with what is behind them is below 4.5, those smaller than 12 pixels, and
// a page that is wider than its window.
const illegible = `(() => {
  const rgba = color => { const c = color.match(/[\d.]+/g).map(Number); return c.length < 4 ? [...c, 1] : c };
  const over = (top, below) => below.map((c, i) => top[i] * top[3] + c * (1 - top[3]));
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => e ? over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  const faults = new Set();
  if (document.documentElement.scrollWidth > innerWidth) faults.add("the page is " + document.documentElement.scrollWidth + " pixels wide");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = texts.nextNode();) {
    const e = node.parentElement;
    if (!node.textContent.trim() || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), back = behind(e);
    const [a, b] = [light(over(rgba(style.color), back)), light(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faults.add(e.className + " " + node.textContent.trim().slice(0, 30) + ": contrast " + contrast.toFixed(2));
    if (parseFloat(style.fontSize) < 12) faults.add(node.textContent.trim().slice(0, 30) + ": " + style.fontSize);
  }
  return [...faults];
})()`

func requireLegible(p *browser.Page, name string) {
	p.Helper()
	for _, fault := range browser.Evaluate[[]string](p, illegible) {
		p.Errorf("%s: %s", name, fault)
	}
}

// requireNames checks that everything that people use or look at has a name for those who can't see it.
func requireNames(p *browser.Page, name string) {
	p.Helper()
	named := 0
	for _, node := range browser.Call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		switch role := string(node.Role.Value); role {
		case `"button"`, `"link"`, `"image"`, `"region"`, `"progressbar"`, `"DisclosureTriangle"`, `"columnheader"`, `"rowheader"`, `"heading"`:
			if node.Name == nil || len(node.Name.Value) <= len(`""`) {
				p.Errorf("%s: a %s has no name", name, role)
				continue
			}
			named++
		}
	}
	if named < 4 {
		p.Errorf("%s: named nodes = %d, want at least 4", name, named)
	}
}

func keepScreenshot(p *browser.Page, name string) {
	p.Helper()
	folder := os.Getenv(screenshotsVariable)
	if folder == "" {
		return
	}
	image, err := chromedp.Run(p.Ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "console-"+name+".png"), image, 0o600); err != nil {
		p.Fatal(err)
	}
}
