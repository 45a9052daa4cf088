package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

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
	class, reason := explain(err, e.connectTimeout)
	return Answer{Class: class, Err: errors.New(printable(reason, maxErrorBytes))}
}

// explain returns the class of a transport's error, and its reason in plain words.
func explain(err error, connectTimeout time.Duration) (class, reason string) {
	if d, is := errors.AsType[*destinationError](err); is {
		return Refused, d.reason
	}
	if h, is := errors.AsType[*handshakeError](err); is {
		return explainHandshake(h.cause, connectTimeout)
	}
	if d, is := errors.AsType[*net.DNSError](err); is {
		return DNS, explainDNS(d)
	}
	if o, is := errors.AsType[*net.OpError](err); is && o.Op == "dial" {
		return explainDial(o, connectTimeout)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return Closed, "the endpoint closed the connection without an answer"
	}
	return Other, "the request failed: " + err.Error()
}

func explainDNS(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return fmt.Sprintf("the name %s has no address: check it in DNS", err.Name)
	case err.IsTimeout:
		return fmt.Sprintf("the name %s was not resolved in time: check the name server", err.Name)
	}
	return fmt.Sprintf("the name %s was not resolved: %s", err.Name, err.Err)
}

func explainDial(err *net.OpError, timeout time.Duration) (class, reason string) {
	address := "the endpoint"
	if err.Addr != nil {
		address = err.Addr.String()
	}
	switch {
	case err.Timeout():
		return Timeout, fmt.Sprintf("no connection to %s within %s", address, timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused, address + " refused the connection"
	}
	return Refused, fmt.Sprintf("no connection to %s: %s", address, err.Err)
}

func explainHandshake(err error, timeout time.Duration) (class, reason string) {
	if errors.Is(err, context.DeadlineExceeded) {
		return Timeout, fmt.Sprintf("no TLS handshake within %s", timeout)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return TLS, "the endpoint closed the connection during the TLS handshake"
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return TLS, "the certificate is signed by an unknown authority: add the authority with CALLBOARD_WEBHOOK_CA_FILE"
	}
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return TLS, "the endpoint does not speak TLS"
	}
	return TLS, "TLS: " + err.Error()
}
