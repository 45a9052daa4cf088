//go:build linux

package load_test

import (
	"strings"
	"testing"
	"time"

	"callboard/readapi/access"
)

// A reader asks for watermarks at most 45 times a second, however many pages wait for them: 200 clients request report pages up to the
// present, which wait.
func TestLoad_Watermarks(t *testing.T) {
	needLoad(t)
	const clients, mostPerSecond = 200, 45
	i := newInstallation(t, smallCompany(), observed())
	i.observe()
	r := i.startReader("readapi", nil)
	windows := i.windows(64)
	keys := i.keysOf(access.TierStandard, windows)
	client, answers := newClient(clients), newResults("pages up to the present")
	defer client.CloseIdleConnections()
	i.forgetStatements()
	began := time.Now()
	deadline := began.Add(*periodFlag / 4)
	inParallel(clients, func(c int) {
		for n := 0; time.Now().Before(deadline); n++ {
			w := windows[(c+n*clients)%len(windows)]
			w.until = time.Now().Truncate(time.Millisecond)
			w.from = w.until.Add(-time.Minute)
			answers.get(client, r.url+w.report(), keys[(c+n*clients)%len(keys)])
		}
	})
	elapsed := time.Since(began)
	calls := query[int64](i, `
		select coalesce(sum(s.calls), 0)::bigint from pg_stat_statements s join pg_roles u on u.oid = s.userid
		where u.rolname = 'callboard_reader' and s.query like '%watermark%' and s.query not like '%call_log%'`)
	rate := float64(calls) / elapsed.Seconds()
	t.Logf("%v\nstatements on watermarks: %d, %.1f a second", answers, calls, rate)
	if calls == 0 || rate > mostPerSecond {
		t.Errorf("statements on watermarks a second = %.1f, want some, and at most %d:\n%s", rate, mostPerSecond, strings.Join(i.readerStatements(), "\n"))
	}
}

// readerStatements returns the beginnings of the readers' statements.
func (i *installation) readerStatements() (list []string) {
	i.Helper()
	for _, s := range i.statements() {
		list = append(list, s.title())
	}
	return list
}
