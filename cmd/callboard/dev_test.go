//go:build !operator

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/internal/run/setting"
	"callboard/schema/cluster"
)

// devInProcess is an instance that runs in this process.
type devInProcess struct {
	devReady
	stop  context.CancelFunc
	ended chan error
}

// startInProcess starts an instance and returns when it is ready.
func startInProcess(t *testing.T, change func(*devConfig)) *devInProcess {
	t.Helper()
	c := devConfig{
		Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: t.TempDir(), Sample: noSample,
		ReadyFile: filepath.Join(t.TempDir(), "ready.json"), Out: io.Discard, Err: io.Discard,
	}
	change(&c)
	t.Cleanup(func() {
		if err := cluster.Remove(filepath.Join(c.Data, "postgres")); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := &devInProcess{stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- runDev(ctx, c) }()
	eventstest.Eventually(t, "the instance writes its ready file", func() bool {
		select {
		case err := <-r.ended:
			t.Fatalf("Run: error = %v, want a ready file", err)
		default:
		}
		text, err := os.ReadFile(c.ReadyFile)
		return err == nil && json.Unmarshal(text, &r.devReady) == nil
	})
	return r
}

func (r *devInProcess) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// A stopped instance with live calls leaves no goroutine, which TestMain checks.
func TestRun_LeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	r := startInProcess(t, func(c *devConfig) { c.Sample = liveSample })
	if r.APIKey == nil || !strings.HasPrefix(*r.APIKey, "sk_phones_") {
		t.Errorf("API key = %v, want one", r.APIKey)
	}
	r.end(t)
}

// A second instance uses the first one's NATS and PostgreSQL: it starts no servers, sets the roles in its sessions
// instead of changing their passwords, and its projector owns no partition.
func TestRun_ExternalServers(t *testing.T) {
	t.Parallel()
	first := startInProcess(t, func(*devConfig) {})
	second := startInProcess(t, func(c *devConfig) {
		c.Sample = smallSample
		c.NATSURL, c.PostgresURL = eventstest.Parsed(t, setting.NewNATSURL, first.NATSURL), eventstest.Parsed(t, setting.NewPostgresURL, first.PostgresURL)
	})
	if second.NATSURL != first.NATSURL || second.PostgresURL != first.PostgresURL {
		t.Errorf("second instance = %+v, want the servers of the first", second.devReady)
	}
	if got := discoveryStatus(t, second.BaseURL, *second.APIKey); got != http.StatusOK {
		t.Errorf("status = %d, want 200", got)
	}
	second.end(t)
	awaitReady(t, first)
	first.end(t)
}

// A start revokes the key of the last start, and no other key of the same name.
func TestRun_RevokesOnlyItsLastKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := func(c *devConfig) { c.Sample, c.Data = smallSample, dir }
	first := startInProcess(t, small)
	other := *first.APIKey
	first.end(t)
	if err := os.Remove(filepath.Join(dir, keyFile)); err != nil { // the second start does not know the first key
		t.Fatal(err)
	}
	second := startInProcess(t, small)
	own := *second.APIKey
	second.end(t)
	third := startInProcess(t, small)
	for key, want := range map[string]int{other: http.StatusOK, own: http.StatusUnauthorized, *third.APIKey: http.StatusOK} {
		if got := discoveryStatus(t, third.BaseURL, key); got != want {
			t.Errorf("status = %d, want %d", got, want)
		}
	}
	third.end(t)
}

// discoveryStatus returns the status of a request for the list of phone systems.
func discoveryStatus(t *testing.T, base, key string) int {
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

// awaitReady waits until an instance's projector and reader are ready. An answer that takes longer than two seconds
// says that they are not.
func awaitReady(t *testing.T, r *devInProcess) {
	t.Helper()
	for _, admin := range []string{r.ReadAPIAdminURL, r.ProjectorAdminURL} {
		eventstest.Eventually(t, admin+" is ready", func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/readyz", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return response.StatusCode == http.StatusOK
		})
	}
}

// An instance whose tables hold events of another stream stops with an error instead of waiting for them.
func TestRun_TablesOfAnotherStream(t *testing.T) {
	t.Parallel()
	first := startInProcess(t, func(*devConfig) {})
	var errs eventstest.LogBuffer
	err := runDev(t.Context(), devConfig{
		Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: t.TempDir(), Sample: noSample,
		PostgresURL: eventstest.Parsed(t, setting.NewPostgresURL, first.PostgresURL), Out: io.Discard, Err: &errs,
	})
	if err == nil || !strings.Contains(err.Error(), "events of another stream") || !strings.Contains(err.Error(), "--renew-projection") {
		t.Errorf("error = %v, want another stream and --renew-projection: %s", err, &errs)
	}
	first.end(t)
}

// An instance that is stopped during its start returns no error.
func TestRun_StoppedDuringStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := cluster.Remove(filepath.Join(dir, "postgres")); err != nil {
			t.Error(err)
		}
	})
	for wait := time.Duration(0); wait < 1200*time.Millisecond; wait += 150 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := runDev(ctx, devConfig{
			Listen: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Data: dir, Sample: smallSample, Out: io.Discard, Err: io.Discard,
		})
		cancel()
		if err != nil {
			t.Errorf("stopped after %s: error = %v, want none", wait, err)
		}
	}
}
