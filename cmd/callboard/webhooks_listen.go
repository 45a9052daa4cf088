package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"callboard/events/webhook"
	"callboard/internal/run"
)

type webhooksListenCommand struct {
	output
	Listen  string           `type:"address" name:"listen" default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"The address to listen on. Port 0 selects a free port."`
	Pair    string           `type:"path" name:"certificate" placeholder:"FILE" help:"A file with the certificate and its private key, in PEM. It is created if it does not exist, so that the certificate stays the same. Default: a new certificate."`
	Secrets []webhook.Secret `type:"webhook-secrets" name:"secret" setting:"webhook-secret" secret:"" placeholder:"WHSEC,..." help:"The endpoint's secret, or several. Requests that it did not sign are refused. Default: none is verified. Do not put it on the command line."`
}

const (
	maxHookBytes = 64 << 10
	hookTimeout  = 10 * time.Second
)

// Run receives webhooks until it is interrupted.
func (c *webhooksListenCommand) Run(ctx context.Context, streams run.Streams) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}

	// Without a file for it, the certificate is new.
	file := c.Pair
	if file == "" {
		dir, err := os.MkdirTemp("", "callboard-webhooks-")
		if err != nil {
			return fmt.Errorf("certificate: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file = filepath.Join(dir, "listen.pem")
	}

	certificate, err := run.LoadCertificate(file, host, time.Now())
	if err != nil {
		return err
	}

	listener, err := run.Listen(ctx, c.Listen)
	if err != nil {
		return err
	}

	// A client that reads this line can connect at once.
	started := listening{URL: "https://" + listener.Addr().String() + "/", CA: file}
	if err := c.print(streams.Out, started, started.lines()...); err != nil {
		return errors.Join(err, listener.Close())
	}

	// The receiver answers until ctx ends.
	server := &http.Server{
		Handler: &hookReceiver{output: c.output, out: streams.Out, secrets: c.Secrets}, ReadTimeout: hookTimeout,
		WriteTimeout: hookTimeout, MaxHeaderBytes: maxHookBytes,
	}

	return run.Serve(ctx, tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	}), server, zerolog.Nop())
}

// listening is the first line of JSON.
type listening struct {
	URL string `json:"url"`
	CA  string `json:"ca"` // the file of the certificate and its key
}

func (l listening) lines() []string {
	return []string{
		"Listening on " + l.URL,
		"The certificate, with its key, is in " + l.CA + ".",
		"Set CALLBOARD_WEBHOOK_CA_FILE to it and CALLBOARD_WEBHOOK_ALLOW_NETWORKS to the network of this address where the " +
			"program webhooks runs.",
	}
}

// hookReceiver answers and prints webhooks.
type hookReceiver struct {
	output
	secrets []webhook.Secret

	mu  sync.Mutex // guards out
	out io.Writer
}

// received is the JSON of a request.
type received struct {
	At       time.Time       `json:"at"`
	ID       string          `json:"id"`
	Verified bool            `json:"verified"`
	Refused  string          `json:"refused,omitempty"` // why
	Event    json.RawMessage `json:"event"`             // the body; null where it is no JSON
}

// ServeHTTP answers 204, and 401 to a request that is not signed with one of the secrets.
func (h *hookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHookBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		return

	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}

	got := received{At: time.Now().UTC(), ID: r.Header.Get(webhook.HeaderID)}
	if json.Valid(body) {
		got.Event = body
	}

	// A request that none of the secrets has signed is refused, and printed all the same.
	status := http.StatusNoContent
	if len(h.secrets) > 0 {
		if _, err := webhook.Verify(h.secrets, r.Header, body, got.At); err != nil {
			got.Refused, status = err.Error(), http.StatusUnauthorized
		} else {
			got.Verified = true
		}
	}

	w.WriteHeader(status)

	// Requests come at the same time. The lock keeps their lines apart.
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.print(h.out, got, got.line())
}

func (r received) line() string {
	state := "unverified"
	switch {
	case r.Refused != "":
		state = "refused (" + printable(r.Refused) + ")"
	case r.Verified:
		state = "verified"
	}
	return strings.Join([]string{instant(r.At), state, printable(r.ID), printable(string(r.Event))}, " ")
}
