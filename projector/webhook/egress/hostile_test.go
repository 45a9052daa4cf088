package egress_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/projector/webhook/egress"
)

// endpoints returns one of a receiver that speaks HTTP/1.1 and one of a receiver that speaks HTTP/2.
func endpoints(tb testing.TB, handler http.HandlerFunc) map[string]*egress.Endpoint {
	tb.Helper()
	connected := make(map[string]*egress.Endpoint)
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		h := newHarness(tb)
		r := receive(tb, "127.0.0.1:0", h.authority.KeyPair(tb), func(s *httptest.Server) { s.EnableHTTP2 = http2 }, handler)
		connected[name] = h.connect(tb, r.named("127.0.0.1"))
	}
	return connected
}

// answered sends headers with a status, and what follows.
func answered(status int, follow func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_ = http.NewResponseController(w).Flush()
		follow(w, r)
	}
}

// slowly sends a byte and then nothing, until the client leaves.
func slowly(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "x")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// endlessly sends a gigabyte, or as much as the client takes.
func endlessly(w http.ResponseWriter, _ *http.Request) {
	piece := make([]byte, 1<<20)
	for range 1 << 10 {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func TestSlowBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 500} {
		for name, endpoint := range endpoints(t, answered(status, slowly)) {
			want := strings.Repeat("x", status/500)
			eventstest.Eventually(t, fmt.Sprintf("%s: the excerpt %q, which a busy receiver may send too late", name, want), func() bool {
				begin := time.Now()
				a := post(t, endpoint)
				if took := time.Since(begin); a.Status != status || a.Err != nil || took > 20*time.Second {
					t.Errorf("%s: answer = %+v after %s, want status %d after about 1 s", name, a, took, status)
				}
				return a.Excerpt == want
			})
		}
	}
}

func TestHugeBodyIsNotRead(t *testing.T) {
	for _, status := range []int{200, 500} {
		for name, endpoint := range endpoints(t, answered(status, endlessly)) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a := post(t, endpoint)
			runtime.ReadMemStats(&after)
			if a.Status != status || a.Err != nil {
				t.Errorf("%s: answer = %+v, want status %d", name, a, status)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
				t.Errorf("%s: allocated %d bytes, want less than 32 MiB", name, allocated)
			}
		}
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	huge := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Huge", strings.Repeat("x", 100<<10)) }
	for _, endpoint := range endpoints(t, huge) {
		checkNoAnswer(t, post(t, endpoint), egress.Other, "the request failed: ")
	}
}

func TestBodyThatEndsEarlyKeepsTheStatus(t *testing.T) {
	for _, status := range []int{200, 500} {
		leave := answered(status, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		for name, endpoint := range endpoints(t, leave) {
			if a := post(t, endpoint); a.Status != status || a.Err != nil {
				t.Errorf("%s: answer = %+v, want status %d", name, a, status)
			}
		}
	}
}

func TestConnectionThatClosesWithoutAnAnswer(t *testing.T) {
	h := newHarness(t)
	r := h.receive(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	checkNoAnswer(t, post(t, h.connect(t, r.named("127.0.0.1"))), egress.Closed, "closed the connection without an answer")
	checkAccepted(t, r, 1)
}

func TestNoAnswerInTime(t *testing.T) {
	h := newHarness(t)
	config := h.config("127.0.0.1/32")
	config.Timeout = 200 * time.Millisecond
	r := h.receive(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	checkNoAnswer(t, post(t, connect(t, egress.New(config), r.named("127.0.0.1"))), egress.Timeout, "no answer within 200ms")
}

func TestSilentHandshakeTimesOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := listen(t, "127.0.0.1:0")
	connections := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			connections <- c
		}
	}()
	config := h.config("127.0.0.1/32")
	config.ConnectTimeout = 0 // the default
	checkNoAnswer(t, post(t, connect(t, egress.New(config), "https://"+l.Addr().String()+"/?"+query)), egress.Timeout, "TLS handshake: context deadline exceeded")
	_ = (<-connections).Close()
}

func TestAnswerThatIsNotHTTP(t *testing.T) {
	h := newHarness(t)
	r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(connection, "\x1b[31m"+strings.Repeat("nonsense ", 1000)+"\r\n\r\n")
		_ = connection.Close()
	})
	a := post(t, h.connect(t, r.named("127.0.0.1")))
	checkNoAnswer(t, a, egress.Other, "nonsense")
	if a.Err != nil && len(a.Err.Error()) > 200 {
		t.Errorf("error has %d bytes, want at most 200", len(a.Err.Error()))
	}
}
