package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"callboard/events/audit"
	"callboard/events/eventstest"
)

// premium is a budget that no test uses up.
const premium = "120000"

// A reader that is asked to stop answers every request of clients that stop when it is not ready, stores their audit entries, and exits
// with 0.
func TestReadapi_Drain(t *testing.T) {
	f := newFleet(t)
	reader := f.startReader(map[string]string{"CALLBOARD_DRAIN": "20s", "CALLBOARD_PREMIUM_PER_MINUTE": premium})
	key := issueKey(t, f.operator(), systemID, "--name", "load", "--scopes", "calls:read", "--tier", "premium")
	load := startLoad(t, key.Key, reader.base+"/customer/phone-systems")
	load.AwaitAnswers(100)
	reader.Signal(syscall.SIGTERM)
	eventstest.Eventually(t, "the reader is not ready", func() bool {
		status, body := get(t, reader.admin+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(string(body), "stopping")
	})
	answers := load.Stop()
	if code := reader.Wait(3 * time.Minute); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if got := f.auditEntries(); got != answers {
		t.Errorf("audit entries = %d, want %d, one for each answer", got, answers)
	}
}

// auditEntries returns the number of entries in the stream.
func (f *fleet) auditEntries() (n int64) {
	f.Helper()
	stream, err := eventstest.JetStream(f, f.nats.URL()).Stream(f.Context(), audit.StreamConfig(1).Name)
	if err != nil {
		f.Fatal(err)
	}
	state := stream.CachedInfo().State
	for sequence := state.FirstSeq; sequence <= state.LastSeq; sequence++ {
		message, err := stream.GetMsg(f.Context(), sequence)
		if err != nil {
			f.Fatal(err)
		}
		entries, err := audit.Decode(message.Data)
		if err != nil {
			f.Fatal(err)
		}
		n += int64(len(entries))
	}
	return n
}

// While a reader drains, it accepts connections, and closes each one after an answer that says so. A second signal ends it at once.
func TestReadapi_DrainClosesConnections(t *testing.T) {
	f := newFleet(t)
	reader := f.startReader(map[string]string{"CALLBOARD_DRAIN": "10m"})
	kept := dialReader(t, reader.base)
	if kept.exchange() {
		t.Error("the answer before the signal closes its connection")
	}
	reader.Signal(syscall.SIGTERM)
	eventstest.Eventually(t, "the reader is not ready", func() bool {
		status, _ := get(t, reader.admin+"/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	kept.requireClosingAnswer("kept connection")
	dialReader(t, reader.base).requireClosingAnswer("new connection")
	requireEndBySecondSignal(t, reader.Process)
}

// readerConnection is a connection to a reader. Unlike that of an [http.Client], it is never replaced by another one.
type readerConnection struct {
	testing.TB
	net.Conn
	answers *bufio.Reader
	url     string
}

func dialReader(tb testing.TB, base string) *readerConnection {
	tb.Helper()
	address, err := url.Parse(base)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address.Host)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		tb.Fatal(err)
	}
	return &readerConnection{TB: tb, Conn: conn, answers: bufio.NewReader(conn), url: base}
}

// exchange makes a request and tells whether the answer says that the reader closes the connection.
func (c *readerConnection) exchange() (closes bool) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.url, nil)
	if err != nil {
		c.Fatal(err)
	}
	if err := request.Write(c.Conn); err != nil {
		c.Fatal(err)
	}
	response, err := http.ReadResponse(c.answers, request)
	if err != nil {
		c.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Close
}

// requireClosingAnswer makes a request whose answer must say that the reader closes the connection, which it then does.
func (c *readerConnection) requireClosingAnswer(name string) {
	c.Helper()
	if !c.exchange() {
		c.Errorf("%s: the answer does not close it", name)
		return
	}
	if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
		c.Errorf("%s: read after the answer: %v, want %v", name, err, io.EOF)
	}
}
