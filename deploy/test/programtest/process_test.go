package programtest_test

import (
	"strings"
	"testing"
	"time"

	"callboard/deploy/test/programtest"
	"callboard/events/webhook"
	"callboard/readapi/access"
)

// Commands print secrets once, to the person who asked. A failed test's output is kept for longer, and read by others.
func TestProcess_LastOutputHasNoSecrets(t *testing.T) {
	t.Parallel()
	key, secret := access.NewKey().Reveal(), webhook.NewSecret().Reveal()
	lines := []string{
		`{"id":"7","key":"` + key + `","secret":"` + secret + `","url":"https://127.0.0.1:38271/7"}`,
		"curl -H 'X-API-Key: " + key + "'",
		"postgres://operator:password@127.0.0.1:29779/live",
	}
	p := programtest.NewProcess(t, "echo", "echo", nil)
	p.Start(strings.Join(lines, "\n"))
	if code := p.Wait(time.Minute); code != 0 {
		t.Fatalf("exit code = %d, want 0", code)
	}
	short := key[:strings.LastIndex(key, "_")+1]
	want := `{"id":"7","key":"` + short + `...","secret":"whsec_...","url":"https://127.0.0.1:38271/7"}
curl -H 'X-API-Key: ` + short + `...'
postgres://operator:...@127.0.0.1:29779/live
`
	if got := p.LastOutput(); got != want {
		t.Errorf("output = %s\nwant %s", got, want)
	}
}
