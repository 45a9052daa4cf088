package readapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slowClient takes an interval for each write. A write that ends after its deadline fails, as a connection's does.
type slowClient struct {
	*httptest.ResponseRecorder
	interval time.Duration
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

func (c *slowClient) Write(b []byte) (int, error) {
	time.Sleep(c.interval)
	if time.Now().After(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.ResponseRecorder.Write(b)
}

// A client that reads at the slowest rate gets the whole body. A slower one is cut off, after the grace.
func TestWriteBody(t *testing.T) {
	t.Parallel()
	const pieces = 5
	for interval, want := range map[time.Duration]int{0: pieces, 4 * time.Second: pieces, 5 * time.Second: 1, 6 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := &slowClient{ResponseRecorder: httptest.NewRecorder(), interval: interval}
			cut := writeBody(w, make([]byte, pieces*pieceBytes), 5*time.Second)
			if got := w.Body.Len() / pieceBytes; got != want || (cut == cutSlow) != (want < pieces) {
				t.Errorf("a piece every %s: pieces = %d, cut = %q, want %d", interval, got, cut, want)
			}
		})
	}
}

// goneClient accepts nothing.
type goneClient struct {
	*httptest.ResponseRecorder
	err error
}

func (c goneClient) Write([]byte) (int, error) { return 0, c.err }

// A response that is not written to its end is counted. It holds no memory afterwards.
func TestWriteBody_Cut(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.key(h.system("one"))
	for cut, err := range map[cutReason]error{cutSlow: os.ErrDeadlineExceeded, cutGone: io.ErrClosedPipe} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+"/customer/phone-systems", nil)
		withKey(key)(r.Header)
		h.handler.ServeHTTP(goneClient{httptest.NewRecorder(), err}, r)
		if got := h.metric("callboard_readapi_cut_total", string(cut)); got != 1 {
			t.Errorf("responses cut off as %s = %v, want 1", cut, got)
		}
	}
	if got := h.metric("callboard_readapi_body_bytes", ""); got != 0 {
		t.Errorf("reserved bytes = %v, want 0", got)
	}
}
