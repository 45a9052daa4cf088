package scenario_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/console"
	"callboard/projector/projectortest"
	"callboard/projector/status"
	"callboard/schema"
)

// What a hostile publisher names: it tries to leave its element, to add a handler, and to hide text.
const hostile = "</span></details><script>document.title='x'</script><img src=x onerror=document.title='x'>\u202egnp.exe"

// serveConsole serves the console of a projection that is applied and has no problem.
func serveConsole(t *testing.T) (h *projectortest.Harness, stop func(), url string) {
	t.Helper()
	h = projectortest.NewHarness(t)
	stop = h.StartProjector()
	h.PublishStates(projectortest.PhoneSystem(h.NewSystemIn(0)))
	h.WaitUntilCaughtUp()
	pool := h.Database.RolePool(h, "callboard_projector")
	c := console.New(console.Config{Interval: 50 * time.Millisecond, Source: status.Source{
		JetStream: h.JetStream, Stream: events.StreamName, Pool: pool, Definition: schema.Definition(),
	}})
	h.Run(c.Run)
	mux := http.NewServeMux()
	for pattern, handler := range c.Pages() {
		mux.Handle(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return h, stop, server.URL
}

// The console's page is legible, named and free of errors at both widths and in both color schemes, with and without
// problems. What publishers sent stays text. Tab reaches what can be used, and a refresh keeps what is open.
func TestConsole_InBrowser(t *testing.T) {
	p := newPage(t)
	h, stop, url := serveConsole(t)
	look := func(name string) {
		for scheme, width := range map[string]int64{"light": 400, "dark": 1600} {
			call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: width, Height: 1000, DeviceScaleFactor: 1,
			})
			call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			p.do(chromedp.Navigate(url))
			evaluate[bool](p, "document.querySelectorAll('details').forEach(d => d.open = true), true")
			requireLegible(p, name+", "+scheme)
			requireNames(p, name+", "+scheme)
		}
	}
	shows := func(text string) func() bool {
		return func() bool { return strings.Contains(evaluate[string](p, "document.body.innerText"), text) }
	}
	look("calm")
	eventstest.Eventually(t, "nothing needs attention", func() bool {
		p.do(chromedp.Navigate(url))
		return shows("Nothing needs attention")()
	})

	// Dead letters, partitions without an owner, and a rebuild that has not ended.
	for range 3 {
		h.PublishRaw(events.Subject(h.NewSystemIn(1), events.EntityCall), nil, "{")
	}
	h.WaitUntilCaughtUp()
	stop()
	h.Exec("insert into control.generation (definition, state) values ('x', 'building')")
	h.Exec("update control.dead_letter set reason = $1, subject = 'phones.3.<b>x</b>.call'", hostile)
	eventstest.Eventually(t, "the page shows the problems", shows("No projector owns a partition"))
	look("problems")
	for _, want := range []string{
		"phones.3.<b>x</b>.call", "<script>document.title='x'</script>", `\u202egnp.exe`, "callboard rebuild --abandon",
	} {
		if !shows(want)() {
			t.Errorf("the page does not show %s", want)
		}
	}
	const elements = "document.querySelectorAll('#dead-letters :is(script, img, b, i, a, iframe, style)').length"
	title := evaluate[string](p, "document.title")
	if n := evaluate[int](p, elements); n != 0 || title != "callboard console" {
		t.Errorf("elements of publishers = %d, title = %q, want 0 and callboard console", n, title)
	}

	p.do(chromedp.Navigate(url))
	const focused = "document.activeElement.parentElement.id"
	for range 60 {
		if p.do(chromedp.KeyEvent(kb.Tab)); strings.HasPrefix(evaluate[string](p, focused), "dead-letter-") {
			break
		}
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	h.Exec("update control.dead_letter set reason = 'Something else.'")
	eventstest.Eventually(t, "the page is refreshed", shows("Something else."))
	if !evaluate[bool](p, "document.activeElement.parentElement.open") {
		t.Error("the dead letter that Enter opened is closed, or has lost the focus")
	}
	p.requireNoErrors(url, 3)
}

// Without script the page has everything but the buttons, and says how to refresh it.
func TestConsole_WithoutScript(t *testing.T) {
	p := newPage(t)
	_, _, url := serveConsole(t)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	eventstest.Eventually(t, "a line in the chart", func() bool {
		p.do(chromedp.Navigate(url))
		return evaluate[bool](p, "!!document.querySelector('#lag .line')")
	})
	text := evaluate[string](p, "document.body.innerText")
	if !strings.Contains(text, "Reload the page to refresh it.") {
		t.Errorf("text = %.1000s, want it to say how to refresh", text)
	}
	const buttons = "[...document.querySelectorAll('button')].filter(b => b.checkVisibility()).length"
	if shown := evaluate[int](p, buttons); shown != 0 {
		t.Errorf("buttons = %d, want 0", shown)
	}
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

func requireLegible(p *page, name string) {
	p.Helper()
	for _, fault := range evaluate[[]string](p, illegible) {
		p.Errorf("%s: %s", name, fault)
	}
}

// requireNames checks that everything that people use or look at has a name for those who can't see it.
func requireNames(p *page, name string) {
	p.Helper()
	roles := `"button" "link" "image" "region" "progressbar" "DisclosureTriangle" "columnheader" "rowheader" "heading"`
	named := 0
	for _, node := range call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if node.Ignored || node.Role == nil || !strings.Contains(roles, string(node.Role.Value)) {
			continue
		}
		if node.Name == nil || len(node.Name.Value) <= len(`""`) {
			p.Errorf("%s: a %s has no name", name, node.Role.Value)
		}
		named++
	}
	if named < 4 {
		p.Errorf("%s: nodes with a role = %d, want at least 4", name, named)
	}
}
