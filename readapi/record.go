package readapi

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
	"callboard/readapi/access"
)

// metrics count every request. One for no operation is counted as the operation "none".
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_requests_total",
			Help: "Requests answered, by operation and status; 499 if the client closed the connection first.",
		}, []string{"operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "callboard_readapi_request_duration_seconds",
			Help:    "Seconds from a request's headers to the last byte of its response, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}
	return m, errors.Join(registerer.Register(m.requests), registerer.Register(m.duration))
}

// record counts the request, logs it and writes the audit entry that was reserved for it.
func (s *service) record(r *http.Request, x *exchange, status int, err error) {
	if x.reserved {
		s.auditQueue.Record(x.auditEntry(status, err))
	}
	elapsed := time.Since(x.start)
	operation := cmp.Or(x.operation, "none")
	s.metrics.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	s.metrics.duration.WithLabelValues(operation).Observe(elapsed.Seconds())

	line := s.log.WithLevel(level(status)).
		Str("request_id", x.requestID).
		Str("operation", operation).
		Str("method", r.Method).
		Int("status", status).
		Dur("duration", elapsed)
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		line.Str("denial", denied.Reason)
	}
	if x.keyID != uuid.Nil {
		line.Stringer("key_id", x.keyID)
	}
	addCause(line, err)
	line.Msg("request finished")
}

func (x *exchange) auditEntry(status int, err error) audit.Entry {
	entry := audit.Entry{
		At: x.start, KeyID: x.keyID, Operation: x.operation, System: uuid.NullUUID{UUID: x.system, Valid: x.system != uuid.Nil},
		Status: status, Address: x.client, RequestID: x.requestID,
	}
	if err != nil && status != statusClientGone {
		entry.Code = string(problemOf(err).code)
	}
	return entry
}

// addCause adds what is logged of an error and never sent.
func addCause(line *zerolog.Event, err error) {
	if err == nil {
		return
	}
	p := problemOf(err)
	line.Str("code", string(p.code))
	if p.cause != nil {
		line.AnErr("cause", p.cause)
	}
	var caught *panicError
	if errors.As(err, &caught) {
		line.Bytes("stack", caught.stack)
	}
}

func level(status int) zerolog.Level {
	switch status {
	case http.StatusInternalServerError:
		return zerolog.ErrorLevel
	case http.StatusServiceUnavailable:
		return zerolog.WarnLevel
	}
	return zerolog.InfoLevel
}
