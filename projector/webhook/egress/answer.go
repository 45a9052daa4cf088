package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxBodyBytes  = 16 << 10
	excerptBytes  = 512
	maxRetryAfter = time.Hour
)

// The classes of answers that have no status.
const (
	Refused  = "refused"  // by the rules about destinations, or because there is no connection to the address
	DNS      = "dns"      // the name has no address, or the name server does not answer
	TLS      = "tls"      // no handshake: above all, a certificate that is not valid
	Timeout  = "timeout"  // of the connection, of TLS or of the request
	Closed   = "closed"   // the endpoint closed the connection before it answered
	Canceled = "canceled" // the caller's context ended
	Other    = "other"    // what is answered is not HTTP, or too large
)

// Answer is what became of a request.
type Answer struct {
	Status     int           // from 200 to 599; 0: no answer
	RetryAfter time.Duration // of 429 and 503, at most an hour; 0: none
	Excerpt    string        // up to 512 printable bytes of an answer that is not 2xx
	Err        error         // why there is no answer, or nil. It never holds the URL's query
	Class      string        // for a metric: 2xx, 3xx, 4xx, 5xx, or one of the constants
}

// Delivered says whether the endpoint accepted the request.
func (a Answer) Delivered() bool { return a.Status/100 == 2 }

// Gone says whether the endpoint wants no more requests.
func (a Answer) Gone() bool { return a.Status == http.StatusGone }

// readAnswer reads an answer whose headers are there. The status decides, whatever becomes of the body. A body that is
// read to its end lets the connection be used again.
func readAnswer(response *http.Response) Answer {
	status := response.StatusCode
	if status < 200 || status > 599 {
		return Answer{Class: Other, Err: fmt.Errorf("the endpoint answered with status %03d, which ends no request", status)}
	}
	a := Answer{Status: status, Class: strconv.Itoa(status/100) + "xx"}

	body := io.LimitReader(response.Body, maxBodyBytes+1)
	if a.Delivered() {
		_, _ = io.Copy(io.Discard, body)
		return a
	}

	text, _ := io.ReadAll(body)
	a.Excerpt = printable(string(text), excerptBytes)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		a.RetryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
	}
	return a
}

// retryAfter reads a number of seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// printable returns the printable characters of a text, up to a number of bytes. White space becomes one blank.
func printable(text string, limit int) string {
	// The endpoint chooses the text, and a terminal may show it.
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)

	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") // the last character may be cut
	}

	return strings.TrimSuffix(text, " ")
}

// maxErrorBytes bounds errors that quote what the endpoint sent.
const maxErrorBytes = 200

// handshakeError is a TLS handshake that failed.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.cause.Error() }

func (e *handshakeError) Unwrap() error { return e.cause }

// failure says why there is no answer. ctx is the caller's context, timed the request's.
func (e *Endpoint) failure(ctx, timed context.Context, err error) Answer {
	if ctx.Err() != nil {
		return Answer{Class: Canceled, Err: fmt.Errorf("the request was canceled: %w", ctx.Err())}
	}
	if timed.Err() != nil {
		return Answer{Class: Timeout, Err: fmt.Errorf("no answer within %s", e.timeout)}
	}
	class, reason := explain(err)
	return Answer{Class: class, Err: errors.New(printable(reason, maxErrorBytes))}
}

// explain returns the class of a transport's error, and its reason. The errors of package net name the host and the
// address, and no more of the URL.
func explain(err error) (class, reason string) {
	// These causes come first, because package net wraps some of them in a net.OpError.
	if d, is := errors.AsType[*destinationError](err); is {
		return Refused, d.reason
	}
	if h, is := errors.AsType[*handshakeError](err); is {
		return explainHandshake(h)
	}
	if d, is := errors.AsType[*net.DNSError](err); is {
		return DNS, d.Error()
	}

	o, dialing := errors.AsType[*net.OpError](err)
	switch {
	case dialing && o.Op == "dial" && o.Timeout():
		return Timeout, o.Error()
	case dialing && o.Op == "dial":
		return Refused, o.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return Closed, "the endpoint closed the connection without an answer"
	}

	return Other, "the request failed: " + err.Error()
}

func explainHandshake(err *handshakeError) (class, reason string) {
	switch _, unknown := errors.AsType[x509.UnknownAuthorityError](err); {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout, err.Error()
	case unknown:
		return TLS, "the certificate is signed by an unknown authority: add the authority with CALLBOARD_WEBHOOK_CA_FILE"
	}
	return TLS, err.Error()
}
