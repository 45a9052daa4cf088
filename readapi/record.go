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

// metrics are counted for every request. A request for no operation is counted as the operation "none".
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_requests_total",
			Help: "Requests answered, by operation and status. 499: the client did not wait.",
		}, []string{"operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "callboard_readapi_request_duration_seconds",
			Help:    "From the request's headers to the answer's last byte handed over, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}
	return m, errors.Join(registerer.Register(m.requests), registerer.Register(m.duration))
}

// record counts the request, writes its line in the log and fills its place in the audit.
func (s *service) record(r *http.Request, x *exchange, status int, err error) {
	if x.entry {
		s.auditQueue.Record(x.audited(status, err))
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
	var denial *access.DeniedError
	if errors.As(err, &denial) {
		line.Str("denial", denial.Reason)
	}
	if x.key != uuid.Nil {
		line.Stringer("key", x.key)
	}
	describeCause(line, err)
	line.Msg("request")
}

// audited is the request's entry in the audit.
func (x *exchange) audited(status int, err error) audit.Entry {
	entry := audit.Entry{
		At: x.start, KeyID: x.key, Operation: x.operation, System: uuid.NullUUID{UUID: x.system, Valid: x.system != uuid.Nil},
		Status: status, Address: x.client, RequestID: x.requestID,
	}
	if err != nil && status != statusClientGone {
		entry.Code = string(problemOf(err).code)
	}
	return entry
}

// describeCause adds what only the log may know of an error.
func describeCause(line *zerolog.Event, err error) {
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
