package scenario_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Every operation is asked with every kind of credential for everything that anybody has. The answer is what the contract says,
// nothing of another phone system is in it, and refusals don't tell by how they look what they are about.
func TestIsolation(t *testing.T) {
	r := newRealm(t)
	var asked atomic.Int64
	refusals := &sameness{seen: map[string]specimen{}}
	t.Run("table", func(t *testing.T) {
		for _, c := range r.credentials() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				asked.Add(r.within(t).tried(c, refusals))
			})
		}
	})
	t.Run("filters", func(t *testing.T) {
		for _, c := range append(r.granted(), r.lessened()[0]) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				asked.Add(r.within(t).filtered(c))
			})
		}
	})
	t.Logf("%d requests", asked.Load())
	r.compareTimes()
}

// within is the realm as one subtest sees it.
func (r *realm) within(t *testing.T) *realm {
	t.Helper()
	mine := *r
	mine.world = r.in(t)
	return &mine
}

// tried asks for everything with a credential, and returns how often it asked.
func (r *realm) tried(c credential, refusals *sameness) (asked int64) {
	r.t.Helper()
	for _, o := range operations() {
		for _, p := range c.places(o) {
			want := c.expected(o, p)
			a := r.ask(c, r.path(o, p))
			name := fmt.Sprintf("%s of the system %s, object %s, voicemail's %v", o.id, p.system, p.object, p.voice)
			r.judge(name, a, want)
			if a.status == http.StatusOK {
				r.isOwn(name, a, c, o, p)
			} else if a.status != http.StatusBadRequest {
				refusals.hold(r.t, want, name, a)
			}
			asked++
		}
	}
	return asked
}

// ask asks again where the limiter could not: nobody's budget is used up here, and on a busy machine the limiter may be late.
func (r *realm) ask(c credential, path string) answer {
	r.t.Helper()
	a := r.send(http.MethodGet, r.url(path), c.header())
	for tries := 0; a.status == http.StatusTooManyRequests && tries < 100; tries++ {
		a = r.send(http.MethodGet, r.url(path), c.header())
	}
	return a
}

var markForm = regexp.MustCompile(`7e4a00[0-9a-f]{2}`)

// isOwn holds a success against whose rows it may be made of: those of the path's phone system, which are there, and no other.
func (r *realm) isOwn(name string, a answer, c credential, o operation, p place) {
	r.t.Helper()
	if o.scope == "" {
		r.same(name, a.ids(), r.covered(c))
		return
	}
	text, mark := a.text, r.tenants[p.system].mark()
	if strings.HasSuffix(o.path, "/url") {
		text = r.heard(a.body).text
	}
	marks := markForm.FindAllString(text, -1)
	if slices.ContainsFunc(marks, func(m string) bool { return m != mark }) {
		r.t.Errorf("%s holds what is another's: %s", name, text)
	}
	if !c.sees(o, p) {
		r.is(name, a.body["total"], 0)
	} else if len(marks) == 0 {
		r.t.Errorf("%s holds nothing of its own: %s", name, text)
	}
	if strings.HasPrefix(o.id, "list") {
		r.isListed(name, a, c, o, p)
	}
}

// covered are the identifiers of the phone systems that a key covers, by name, which is their order by identifier.
func (r *realm) covered(c credential) []string {
	ids := []string{}
	for _, of := range c.covers {
		ids = append(ids, r.tenants[of].system().String())
	}
	return slices.Sorted(slices.Values(ids))
}

// isListed holds a list against the one row that it has in every phone system.
func (r *realm) isListed(name string, a answer, c credential, o operation, p place) {
	r.t.Helper()
	want := []string{}
	if c.sees(o, p) {
		want = append(want, r.tenants[p.system].object(rowVariable(o), 0))
	}
	r.same(name, a.ids(), want)
	if !isReport(o) {
		r.is(name+": total", a.body["total"], len(want))
	}
	rows, _ := a.body["data"].([]any)
	for _, row := range rows {
		r.is(name+": phoneSystemId", step(row, "phoneSystemId"), r.tenants[p.system].system())
	}
}

// rowVariable is the variable that names one of a list's rows.
func rowVariable(list operation) string {
	for _, o := range details() {
		if variable, found := strings.CutPrefix(o.path, list.path+"/"); found {
			return variable
		}
	}
	return "{callLogId}" // of reports, which have no detail
}

// sameness compares refusals of one verdict with each other: whatever they are about, and whoever asked, they look the same.
type sameness struct {
	mutex sync.Mutex
	seen  map[string]specimen
}

// specimen is the first refusal of its verdict.
type specimen struct{ name, look string }

func (s *sameness) hold(t *testing.T, verdict, name string, a answer) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	first, known := s.seen[verdict]
	if !known {
		s.seen[verdict] = specimen{name, a.look()}
	} else if look := a.look(); look != first.look {
		t.Errorf("%s:\n%s\nand %s:\n%s", name, look, first.name, first.look)
	}
}

// look is all that a customer sees of an answer, byte for byte, without what every answer has of its own. Whose budget it was
// is the operation's and the key's to say; that it was asked at all is a part of the look, save that one 403, about a
// voicemail's sound, comes after the budget and the others before it.
func (a answer) look() string {
	header := a.header.Clone()
	for _, own := range []string{"Date", "X-Request-Id", "Ratelimit-Policy"} {
		if header.Get(own) != "" {
			header.Set(own, "...")
		}
	}
	header.Del("Ratelimit") // it is left out where the budget's standing is not known in time
	if a.status == http.StatusForbidden {
		header.Del("Ratelimit-Policy")
	}
	var look strings.Builder
	_ = header.Write(&look) // a builder takes everything
	return look.String() + strings.ReplaceAll(a.text, a.header.Get("X-Request-Id"), "...")
}
