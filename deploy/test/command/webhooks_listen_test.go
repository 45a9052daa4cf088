package command_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/deploy/test/programtest"
	"callboard/events/eventstest"
	"callboard/events/webhook"
)

// listening is what 'webhooks listen' prints first.
type listening struct{ URL, CA string }

// received is a request, as 'webhooks listen' prints it.
type received struct {
	ID       string
	Verified bool
	Refused  string
	Event    json.RawMessage
}

// hookListener is a running 'webhooks listen', and a client that trusts it.
type hookListener struct {
	*programtest.Process
	listening
	roots  *x509.CertPool // what the client trusts
	client *http.Client
}

func startListener(t *testing.T, env map[string]string, args ...string) *hookListener {
	t.Helper()
	l := &hookListener{Process: start(t, "callboard", env, append([]string{"webhooks", "listen", "--json"}, args...)...)}
	eventstest.Eventually(t, "the listener says where it listens", func() bool {
		return json.Unmarshal([]byte(l.Out.String()), &l.listening) == nil
	})
	certificate, err := os.ReadFile(l.CA)
	if err != nil {
		t.Fatal(err)
	}
	l.roots = x509.NewCertPool()
	l.roots.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: l.roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	l.client = &http.Client{Transport: transport}
	return l
}

func (l *hookListener) post(header http.Header, body []byte) (status int) {
	l.Helper()
	request, err := http.NewRequestWithContext(l.Context(), http.MethodPost, l.URL, bytes.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	request.Header = header
	response, err := l.client.Do(request)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

// printed returns the last line, after the number of lines is reached.
func (l *hookListener) printed(lines int) (r received) {
	l.Helper()
	eventstest.Eventually(l, "the request is printed", func() bool { return strings.Count(l.Out.String(), "\n") == lines })
	all := strings.Split(strings.TrimSpace(l.Out.String()), "\n")
	if err := json.Unmarshal([]byte(all[len(all)-1]), &r); err != nil {
		l.Fatal(err)
	}
	return r
}

func TestWebhooks_Listen(t *testing.T) {
	t.Parallel()
	secret, other := webhook.NewSecret(), webhook.NewSecret()
	body := webhook.Event{Type: webhook.CallEnded, Timestamp: time.Now(), Data: webhook.Data{PhoneSystemID: uuid.New(), CallSid: "CA1"}}.Body()
	l := startListener(t, map[string]string{"CALLBOARD_WEBHOOK_SECRET": secret.Reveal()})
	status := l.post(webhook.Sign([]webhook.Secret{other, secret}, "evt_a", time.Now(), body), body)
	if got := l.printed(2); status != http.StatusNoContent || !got.Verified || got.ID != "evt_a" || string(got.Event) != string(body) {
		t.Errorf("signed request: status = %d, printed %+v, want 204 and it verified", status, got)
	}
	status = l.post(webhook.Sign([]webhook.Secret{other}, "evt_b", time.Now(), body), body)
	if got := l.printed(3); status != http.StatusUnauthorized || got.Verified || got.Refused == "" || got.ID != "evt_b" {
		t.Errorf("request of another: status = %d, printed %+v, want 401 and why", status, got)
	}
	if status = l.post(http.Header{}, make([]byte, 65<<10)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("large request: status = %d, want 413", status)
	}
	if strings.Contains(l.Out.String()+l.Err.String(), "whsec_") {
		t.Error("the output has a secret")
	}
	l.StopCleanly(os.Interrupt)
	if _, err := os.Stat(l.CA); !os.IsNotExist(err) {
		t.Errorf("file of the certificate: error = %v, want none there", err)
	}
}

// The file of --certificate is created by the first listener, and gives the second one the same certificate.
func TestWebhooks_ListenWithCertificate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "listen.pem")
	var first *hookListener
	for range 2 {
		l := startListener(t, nil, "--certificate", file)
		if status := l.post(http.Header{}, []byte("{}")); status != http.StatusNoContent {
			t.Errorf("request: status = %d, want 204", status)
		}
		l.StopCleanly(os.Interrupt)
		if first == nil {
			first = l
		}
		if !first.roots.Equal(l.roots) {
			t.Error("the certificate has changed, want that of the file")
		}
	}
	expect(t, nil, 1, "certificate .*: not a directory", "webhooks", "listen", "--certificate", filepath.Join(file, "listen.pem"))
}
