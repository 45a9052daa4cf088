package egress_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/projector/webhook/egress"
)

func TestPostSendsBodyAndHeaders(t *testing.T) {
	h := newHarness(t)
	var got *http.Request
	var body []byte
	r := h.receive(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		http.SetCookie(w, &http.Cookie{Name: "visited", Value: "yes"})
	})
	endpoint := h.connect(t, r.named("127.0.0.1"))
	header := http.Header{"Webhook-Id": {"evt_1"}, "Content-Type": {"text/plain"}}
	for range 2 { // the second one has no cookie
		if a := endpoint.Post(t.Context(), header, []byte(`{"type":"callboard.test"}`)); !a.Delivered() || a.Class != "2xx" || a.Excerpt != "" {
			t.Fatalf("answer = %+v, want 200", a)
		}
	}
	want := map[string]string{
		"Webhook-Id": "evt_1", "Content-Type": "application/json", "User-Agent": "callboard-webhooks/1.2.3",
		"Accept-Encoding": "", "Cookie": "", "Referer": "",
	}
	for name, value := range want {
		if got.Header.Get(name) != value {
			t.Errorf("header %s = %q, want %q", name, got.Header.Get(name), value)
		}
	}
	request := fmt.Sprintf("%s %s %s", got.Method, got.URL.RequestURI(), body)
	if want := "POST /hook?" + query + ` {"type":"callboard.test"}`; request != want {
		t.Errorf("request = %s, want %s", request, want)
	}
	if header.Get("Content-Type") != "text/plain" {
		t.Error("Post changed the caller's header")
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	h := newHarness(t)
	for _, body := range []int{0, 16 << 10} {
		r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, body)) })
		endpoint := h.connect(t, r.named("127.0.0.1"))
		for range 5 {
			if a := post(t, endpoint); !a.Delivered() {
				t.Fatalf("answer = %+v, want 200", a)
			}
		}
		// net/http gives up a connection whose writing goroutine does not run for 50 ms after the answer.
		connections := r.accepted.Load()
		if connections == 5 {
			t.Error("accepted connections = 5 for 5 requests, want fewer")
		}
		if a := post(t, h.connect(t, r.named("127.0.0.1"))); !a.Delivered() {
			t.Fatalf("answer to another endpoint = %+v, want 200", a)
		}
		checkAccepted(t, r, connections+1)
	}
}

func TestConcurrencyBoundsConnections(t *testing.T) {
	h := newHarness(t)
	arrived, proceed := make(chan struct{}, 5), make(chan struct{})
	r := h.receive(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-proceed
	})
	endpoint := h.connect(t, r.named("127.0.0.1"))
	var posts sync.WaitGroup
	for range 5 {
		posts.Go(func() {
			if a := post(t, endpoint); !a.Delivered() {
				t.Errorf("answer = %+v, want 200", a)
			}
		})
	}
	<-arrived
	<-arrived
	checkAccepted(t, r, 2)
	close(proceed)
	posts.Wait()
	if got := r.accepted.Load(); got == 5 {
		t.Error("accepted connections = 5 for 5 requests, want fewer")
	}
}

func TestHTTP2(t *testing.T) {
	h := newHarness(t)
	protocol := make(chan string, 1)
	r := receive(t, "127.0.0.1:0", h.authority.KeyPair(t), eventstest.WithHTTP2, func(_ http.ResponseWriter, r *http.Request) {
		protocol <- r.Proto
	})
	endpoint := h.connect(t, r.named("127.0.0.1"))
	for range 3 {
		if a := post(t, endpoint); !a.Delivered() {
			t.Fatalf("answer = %+v, want 200", a)
		}
		if got := <-protocol; got != "HTTP/2.0" {
			t.Errorf("protocol = %s, want HTTP/2.0", got)
		}
	}
	checkAccepted(t, r, 1)
}

func TestStatusDecides(t *testing.T) {
	h := newHarness(t)
	for status, want := range map[int]egress.Answer{
		200: {Class: "2xx"}, 299: {Class: "2xx"}, 400: {Class: "4xx"}, 410: {Class: "4xx"}, 500: {Class: "5xx"},
	} {
		r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		want.Status = status
		a := post(t, h.connect(t, r.named("127.0.0.1")))
		if a != want || a.Delivered() != (status < 300) || a.Gone() != (status == 410) {
			t.Errorf("answer = %+v, want %+v", a, want)
		}
	}
	for _, status := range []int{101, 600} {
		r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		checkNoAnswer(t, post(t, h.connect(t, r.named("127.0.0.1"))), egress.Other, "which ends no request")
	}
}

func TestExcerptIsPrintableAndShort(t *testing.T) {
	h := newHarness(t)
	for sent, want := range map[string]string{
		"  try\r\n\tlater\x00\x1b[31m \u202eé\xff ": "try later[31m é",
		strings.Repeat("é", 4000):                   strings.Repeat("é", 256),
		strings.Repeat("\x01", 20<<10) + "late":     "",
	} {
		r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, sent)
		})
		if a := post(t, h.connect(t, r.named("127.0.0.1"))); a.Excerpt != want || a.Status != 500 {
			t.Errorf("excerpt = %q, want %q", a.Excerpt, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		status   int
		value    string
		min, max time.Duration
	}{
		{429, "30", 30 * time.Second, 30 * time.Second},
		{503, "0", 0, 0},
		{503, "7200", time.Hour, time.Hour},
		{503, "99999999999999999999999", time.Hour, time.Hour},
		{503, time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat), 5 * time.Minute, 10 * time.Minute},
		{503, "Mon, 02 Mar 2020 09:00:00 GMT", 0, 0},
		{503, "-5", 0, 0},
		{503, "soon", 0, 0},
		{500, "30", 0, 0},
	} {
		r := h.receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.value)
			w.WriteHeader(c.status)
		})
		if a := post(t, h.connect(t, r.named("127.0.0.1"))); a.RetryAfter < c.min || a.RetryAfter > c.max || a.Status != c.status {
			t.Errorf("RetryAfter of %d with %q = %s, want %s to %s", c.status, c.value, a.RetryAfter, c.min, c.max)
		}
	}
}

func TestCanceledContextIsNoTimeout(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := h.receive(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	a := h.connect(t, r.named("127.0.0.1")).Post(ctx, nil, []byte(`{}`))
	checkNoAnswer(t, a, egress.Canceled, "the request was canceled: context canceled")
}
