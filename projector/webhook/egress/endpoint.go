package egress

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"
)

// bodyTimeout is the time for the answer's body once its headers are there. The status is known by then.
const bodyTimeout = time.Second

// Endpoint is the connections to one endpoint. It is safe for concurrent use.
type Endpoint struct {
	url                     string
	userAgent               string
	timeout, connectTimeout time.Duration
	transport               *http.Transport
}

// Post sends one request and returns what became of it. It adds the headers User-Agent and Content-Type. It sends a request again only
// where the endpoint has certainly not processed it: on a connection that was closed before the request was written.
func (e *Endpoint) Post(ctx context.Context, header http.Header, body []byte) Answer {
	timed, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := e.request(timed, header, body)
	if err != nil {
		return Answer{Class: Other, Err: err}
	}
	response, err := e.transport.RoundTrip(request) // a http.Client would follow redirects
	if err != nil {
		return e.failure(ctx, timed, err)
	}
	defer response.Body.Close()
	bound := time.AfterFunc(bodyTimeout, cancel)
	defer bound.Stop()
	return readAnswer(response)
}

func (e *Endpoint) request(ctx context.Context, header http.Header, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the endpoint's URL is not valid: set another one") // err holds the URL
	}
	if header != nil {
		request.Header = header.Clone()
	}
	request.Header.Set("User-Agent", e.userAgent)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// Close closes the connections that no request uses. Those in use close when they are idle for 90 s at the latest.
func (e *Endpoint) Close() { e.transport.CloseIdleConnections() }
