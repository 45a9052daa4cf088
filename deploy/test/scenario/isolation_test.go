package scenario_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestIsolation requests every operation with every kind of credential, for the objects of every tenant. The
// outcome is what the contract says, answers have rows of one phone system only, and refusals with the same outcome
// are equal whatever they refuse.
func TestIsolation(t *testing.T) {
	t.Parallel()
	f := newIsolationFixture(t)
	var requests atomic.Int64
	refusals := &refusalLog{first: map[string]refusal{}}
	t.Run("targets", func(t *testing.T) {
		for _, c := range f.credentials() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				requests.Add(f.forSubtest(t).requestAll(c, refusals))
			})
		}
	})
	t.Logf("%d requests", requests.Load())
}

// forSubtest returns the fixture for a subtest.
func (f *isolationFixture) forSubtest(t *testing.T) *isolationFixture {
	t.Helper()
	copied := *f
	copied.fixture = f.in(t)
	return &copied
}

// requestAll requests every target with a credential, and returns the number of requests.
func (f *isolationFixture) requestAll(c credential, refusals *refusalLog) (requests int64) {
	f.Helper()
	for _, o := range operations() {
		for _, target := range c.targets(o) {
			want := c.expected(o, target)
			a := f.request(c, f.path(o, target))
			name := fmt.Sprintf("%s: phone system %s, object %s, of a voicemail %v", o.id, target.system, target.object, target.ofVoicemail)
			f.checkOutcome(name, a, want)
			if a.status == http.StatusOK {
				f.checkRows(name, a, c, o, target)
			} else if a.status != http.StatusBadRequest {
				refusals.add(f, want, name, a)
			}
			requests++
		}
	}
	return requests
}

// request requests a path with a credential. Each request that is to be refused comes from another network, because
// only some unknown keys per second are looked up for a network.
func (f *isolationFixture) request(c credential, path string) answer {
	f.Helper()
	header := c.header()
	if c.refusal != "" {
		header.Set("X-Forwarded-For", f.newClient())
	}
	return f.send(f.url(path), header)
}

// newClient returns an address in a network that no request has come from.
func (f *isolationFixture) newClient() string {
	n := f.clients.Add(1)
	return netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 1}).String()
}

// markForm matches the marks of tenants in answers.
var markForm = regexp.MustCompile(`7e4a00[0-9a-f]{2}`)

// checkRows checks that an answer has data of the path's phone system and of no other.
func (f *isolationFixture) checkRows(name string, a answer, c credential, o operation, at target) {
	f.Helper()
	if o.scope == "" {
		f.equalStrings(name, a.ids(), f.coveredSystems(c))
		return
	}
	text, mark := a.text, f.tenants[at.system].mark()
	if strings.HasSuffix(o.path, "/url") {
		text = f.fetchAudio(a.body).text
	}
	marks := markForm.FindAllString(f.tenants[at.system].withoutReferences(text), -1)
	if slices.ContainsFunc(marks, func(m string) bool { return m != mark }) {
		f.Errorf("%s has data of another phone system: %s", name, text)
	}
	if !c.sees(o, at) {
		f.equalJSON(name, a.body["total"], 0)
	} else if len(marks) == 0 {
		f.Errorf("%s has no data of its phone system: %s", name, text)
	}
	if strings.HasPrefix(o.id, "list") {
		f.checkList(name, a, c, o, at)
	}
}

// coveredSystems returns the identifiers of the phone systems that a key covers, in the order of their names.
func (f *isolationFixture) coveredSystems(c credential) []string {
	ids := []string{}
	for _, of := range c.covers {
		ids = append(ids, f.tenants[of].system().String())
	}
	return slices.Sorted(slices.Values(ids))
}

// checkList compares a list with the only row that it has in a phone system.
func (f *isolationFixture) checkList(name string, a answer, c credential, o operation, at target) {
	f.Helper()
	want := []string{}
	if c.sees(o, at) {
		want = append(want, f.tenants[at.system].object(rowVariable(o), 0))
	}
	f.equalStrings(name, a.ids(), want)
	if !isReport(o) {
		f.equalJSON(name+": total", a.body["total"], len(want))
	}
	rows, _ := a.body["data"].([]any)
	for _, row := range rows {
		f.equalJSON(name+": phoneSystemId", jsonStep(row, "phoneSystemId"), f.tenants[at.system].system())
	}
}

// rowVariable returns the path variable of a list's rows.
func rowVariable(list operation) string {
	for _, o := range details() {
		if variable, found := strings.CutPrefix(o.path, list.path+"/"); found {
			return variable
		}
	}
	return "{callLogId}" // reports have no detail
}

// refusalLog compares refusals with the first one of the same outcome.
type refusalLog struct {
	mutex sync.Mutex
	first map[string]refusal
}

type refusal struct{ name, text string }

func (l *refusalLog) add(tb testing.TB, outcome, name string, a answer) {
	tb.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	first, known := l.first[outcome]
	if !known {
		l.first[outcome] = refusal{name, a.comparable()}
	} else if got := a.comparable(); got != first.text {
		tb.Errorf("%s = %s, want the answer of %s: %s", name, got, first.name, first.text)
	}
}

// comparable returns the bytes of an answer without what every answer has of its own. That a budget applied is
// compared, except for 403: a voicemail's audio is refused after the budget, all else before it.
func (a answer) comparable() string {
	header := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Ratelimit-Policy"} {
		if header.Get(name) != "" {
			header.Set(name, "...")
		}
	}
	header.Del("Ratelimit") // absent if the quota is not known in time
	if a.status == http.StatusForbidden {
		header.Del("Ratelimit-Policy")
	}
	var text strings.Builder
	_ = header.Write(&text) // a builder returns no error
	return text.String() + strings.ReplaceAll(a.text, a.header.Get("X-Request-Id"), "...")
}
