package dev

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callboard/cmd/setting"
	"callboard/schema/cluster"
)

// running is an instance in this process.
type running struct {
	Ready
	stop  context.CancelFunc
	ended chan error
}

// run starts an instance and returns once it serves.
func run(t *testing.T, change func(*Config)) *running {
	t.Helper()
	c := Config{
		Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: t.TempDir(), Sample: None,
		ReadyFile: filepath.Join(t.TempDir(), "ready.json"), Out: io.Discard, Err: io.Discard,
	}
	change(&c)
	t.Cleanup(func() {
		if err := cluster.Remove(filepath.Join(c.Data, "postgres")); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- Run(ctx, c) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-r.ended:
			t.Fatalf("it ended: %v", err)
		case <-tick.C:
		}
		text, err := os.ReadFile(c.ReadyFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &r.Ready)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// An instance that is told to stop leaves nothing running.
func TestRun_LeavesNothing(t *testing.T) {
	r := run(t, func(c *Config) { c.Sample = Live })
	if r.APIKey == nil || !strings.HasPrefix(*r.APIKey, "sk_phones_") {
		t.Errorf("key %v", r.APIKey)
	}
	r.end(t)
	goleak.VerifyNone(t)
}

// Two instances share one NATS and one PostgreSQL: the second runs no servers of its own, takes the roles on instead of
// changing their passwords, and its projector stands by.
func TestRun_ServersOfSomebodyElse(t *testing.T) {
	first := run(t, func(*Config) {})
	second := run(t, func(c *Config) {
		c.Sample = Small
		c.NATSURL, c.PostgresURL = natsURL(t, first.NATSURL), postgresURL(t, first.PostgresURL)
	})
	if second.NATSURL != first.NATSURL || second.PostgresURL != first.PostgresURL {
		t.Errorf("%+v", second.Ready)
	}
	rows, err := listed(t.Context(), *second.APIKey, second.BaseURL+"/customer/phone-systems")
	if err != nil || len(rows) == 0 {
		t.Errorf("%v, %v", rows, err)
	}
	second.end(t)
	ready(t, first)
	first.end(t)
	goleak.VerifyNone(t)
}

// A start ends the key of the start before, and nobody else's, whatever it is called.
func TestRun_RevokesItsOwnKeyAlone(t *testing.T) {
	dir := t.TempDir()
	small := func(c *Config) { c.Sample, c.Data = Small, dir }
	first := run(t, small)
	other := *first.APIKey
	first.end(t)
	if err := os.Remove(filepath.Join(dir, keyFile)); err != nil { // now it is somebody else's
		t.Fatal(err)
	}
	second := run(t, small)
	own := *second.APIKey
	second.end(t)
	third := run(t, small)
	for key, want := range map[string]int{other: http.StatusOK, own: http.StatusUnauthorized, *third.APIKey: http.StatusOK} {
		if got := discovered(t, third.BaseURL, key); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	third.end(t)
}

// discovered is the status of the answer to discovery.
func discovered(t *testing.T, base, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/customer/phone-systems", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// ready fails unless both programs of an instance can serve.
func ready(t *testing.T, r *running) {
	t.Helper()
	for _, admin := range []string{r.ReadAPIAdminURL, r.ProjectorAdminURL} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", admin, response.Status)
		}
	}
}

func natsURL(t *testing.T, text string) setting.URL {
	t.Helper()
	u, err := setting.NewNATSURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func postgresURL(t *testing.T, text string) setting.URL {
	t.Helper()
	u, err := setting.NewPostgresURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Tables that were filled from another stream are not waited for.
func TestRun_TablesOfAnotherStream(t *testing.T) {
	first := run(t, func(*Config) {})
	var said strings.Builder
	err := Run(t.Context(), Config{
		Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: t.TempDir(), Sample: None,
		PostgresURL: postgresURL(t, first.PostgresURL), Out: io.Discard, Err: &said,
	})
	if err == nil || !strings.Contains(err.Error(), "events of another stream") || !strings.Contains(err.Error(), "--renew-projection") {
		t.Errorf("%v: %s", err, &said)
	}
	first.end(t)
}

// However early an instance is told to stop, it stops, and that is no failure.
func TestRun_StoppedOnTheWay(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := cluster.Remove(filepath.Join(dir, "postgres")); err != nil {
			t.Error(err)
		}
	})
	for wait := time.Duration(0); wait < 1200*time.Millisecond; wait += 150 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := Run(ctx, Config{
			Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: dir, Sample: Small, Out: io.Discard, Err: io.Discard,
		})
		cancel()
		if err != nil {
			t.Errorf("after %s: %v", wait, err)
		}
	}
	goleak.VerifyNone(t)
}
