package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// relay is a server on this machine that passes requests on to another. The
// library that downloads PostgreSQL takes no context and reports no progress; it
// can be given a URL, so it is given this one, which ends with its context and counts.
type relay struct {
	url       string
	server    *http.Server
	transport *http.Transport
	served    chan struct{} // closed at the end of the goroutine that serves

	mu    sync.Mutex
	cause error // what went wrong upstream, of which the library tells little
}

// startRelay serves until close is called.
func startRelay(ctx context.Context, upstream string, progress func(string)) (*relay, error) {
	target, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	silent := log.New(io.Discard, "", 0)
	r := &relay{
		url:       "http://" + listener.Addr().String(),
		transport: http.DefaultTransport.(*http.Transport).Clone(),
		served:    make(chan struct{}),
	}
	r.server = &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    silent,
		Handler: &httputil.ReverseProxy{
			Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(target) },
			Transport:      r.transport,
			ErrorLog:       silent,
			ModifyResponse: func(answer *http.Response) error { return r.inspect(answer, progress) },
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				r.fail(err)
				w.WriteHeader(http.StatusBadGateway)
			},
		},
	}
	go func() {
		defer close(r.served)
		// It returns when close is called, and says just that.
		_ = r.server.Serve(listener)
	}()
	return r, nil
}

func (r *relay) inspect(answer *http.Response, progress func(string)) error {
	if answer.StatusCode != http.StatusOK {
		r.fail(errors.New(answer.Status))
	}
	answer.Body = &meter{ReadCloser: answer.Body, relay: r, total: answer.ContentLength, progress: progress}
	return nil
}

func (r *relay) close() {
	_ = r.server.Close() // nothing is left to lose on its connections
	<-r.served
	r.transport.CloseIdleConnections()
}

func (r *relay) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = err
}

func (r *relay) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// meter reports every megabyte that is read through it.
type meter struct {
	io.ReadCloser
	relay       *relay
	read, total int64
	progress    func(string)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if before := m.read >> 20; (m.read+int64(n))>>20 > before {
		m.progress(fmt.Sprintf("fetching PostgreSQL: %d of %d MB", (m.read+int64(n))>>20, m.total>>20))
	}
	m.read += int64(n)
	if err != nil && err != io.EOF {
		m.relay.fail(err)
	}
	return n, err
}
