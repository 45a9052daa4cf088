package readapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/query"
)

// noOperation is the operation of a request for none, in the log, in metrics and in the audit.
const noOperation = "none"

// metrics count every request.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	shed     *prometheus.CounterVec
	cut      *prometheus.CounterVec
}

// shedReason is why a valid request got no response, the label of the metric.
type shedReason string

const (
	shedAudit    shedReason = "audit"        // the audit queue has no free place
	shedBytes    shedReason = "bytes"        // the memory for responses is used up
	shedLineage  shedReason = "lineage"      // too many requests of the key's lineage at once
	shedUnknown  shedReason = "unknown_keys" // too many unknown keys from the client's network
	shedCoverage shedReason = "coverage"     // the coverage of the key's group or organization is too old
	shedAudio    shedReason = "audio"        // there are no credentials to sign a link with
	shedDownload shedReason = "downloads"    // too many downloads of audio by the client's network
	shedReplica  shedReason = "replica"      // the database that is read lacks a phone system of the primary
	shedDatabase shedReason = "database"     // PostgreSQL can't be reached or has no resources
	shedTimeout  shedReason = "timeout"      // waiting for a connection included
)

// shedReasonOf returns why a request was answered with 503.
func shedReasonOf(err error) shedReason {
	switch {
	case errors.Is(err, auditqueue.ErrFull):
		return shedAudit

	case errors.Is(err, errBodyMemory):
		return shedBytes
	case errors.Is(err, errLineageMemory):
		return shedLineage

	case errors.Is(err, access.ErrThrottled):
		return shedUnknown
	case errors.Is(err, errCoverageStale):
		return shedCoverage

	case errors.Is(err, audio.ErrNoCredentials):
		return shedAudio
	case errors.Is(err, errDownloads):
		return shedDownload

	case errors.Is(err, query.ErrNoSystem):
		return shedReplica
	case errors.Is(err, context.DeadlineExceeded):
		return shedTimeout
	}

	return shedDatabase
}

// newMetrics registers the metrics.
func newMetrics(registerer prometheus.Registerer, projection *query.Projection) *metrics {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "callboard_readapi_long_statements_waiting",
		Help: "Long statements (report dimensions, pages with transcripts) that wait for their half of the connections.",
	}, func() float64 { return float64(projection.LongStatementsWaiting()) })

	m := &metrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_requests_total",
			Help: "Requests answered, by operation and status; 499 if the client closed the connection first.",
		}, []string{"operation", "status"}),

		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "callboard_readapi_request_duration_seconds",
			Help:    "Seconds from a request's headers to the last byte of its response, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),

		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_readapi_in_flight", Help: "Requests that are being answered.",
		}),
		shed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_shed_total", Help: "Requests answered with 503, by reason.",
		}, []string{"reason"}),

		cut: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "callboard_readapi_cut_total",
			Help: "Responses that were not written to their end, by reason: slow, if the client read below 64 KiB/s, or gone.",
		}, []string{"reason"}),
	}

	// A counter that has not counted yet is exported too.
	for _, reason := range []shedReason{
		shedAudit, shedBytes, shedLineage, shedUnknown, shedCoverage, shedAudio, shedDownload, shedReplica, shedDatabase,
		shedTimeout,
	} {
		m.shed.WithLabelValues(string(reason))
	}
	for _, reason := range []cutReason{cutSlow, cutGone} {
		m.cut.WithLabelValues(string(reason))
	}
	return m
}

// record counts the request, logs it, describes it in its span, and records it in the audit. err is the error of the
// request, which the client was told as its status.
func (s *service) record(r *http.Request, x *exchange, out *reply, status int, err error) {
	s.describeSpan(r.Context(), x, out, status, err)

	// A reserved place is filled. A request with a key's secret but without a place is counted.
	switch {
	case x.reserved:
		s.auditQueue.Record(x.lineage, x.auditEntry(status, err))
	case x.audited:
		s.auditQueue.RecordRefused(x.lineage, x.auditEntry(status, err))
	}

	elapsed := time.Since(x.start)
	operation := cmp.Or(x.operation, noOperation)
	s.metrics.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	s.metrics.duration.WithLabelValues(operation).Observe(elapsed.Seconds())
	if status == http.StatusServiceUnavailable {
		s.metrics.shed.WithLabelValues(string(shedReasonOf(err))).Inc()
	}

	// The line has nothing of the key, the headers and the query string.
	line := s.log.WithLevel(level(status)).
		Str("request_id", x.requestID).
		Str("operation", operation).
		Str("method", r.Method).
		Int("status", status).
		Dur("duration", elapsed)

	// The reason of a denial is logged and never sent.
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		line.Str("denial", denied.Reason)
	}

	if x.keyID != uuid.Nil {
		line.Stringer("key_id", x.keyID)
	}
	if x.cut != "" {
		s.metrics.cut.WithLabelValues(string(x.cut)).Inc()
		line.Str("cut", string(x.cut))
	}

	if err != nil {
		addCause(line, err)
	}
	line.Msg("request finished")
}

// auditEntry is the request's entry in the audit.
func (x *exchange) auditEntry(status int, err error) events.AuditEntry {
	entry := events.AuditEntry{
		At: x.start, KeyID: x.keyID, Operation: cmp.Or(x.operation, noOperation),
		System: uuid.NullUUID{UUID: x.system, Valid: x.system != uuid.Nil},
		Status: status, Address: x.client, RequestID: x.requestID,
	}

	// A client that closed its connection got no problem, so the entry has no code.
	switch {
	case err == nil || status == statusClientGone:
	case errors.Is(err, errCoverageStale):
		entry.Code = staleCode
	default:
		entry.Code = string(problemOf(err).code)
	}

	return entry
}

// addCause adds what is logged of an error and never sent.
func addCause(line *zerolog.Event, err error) {
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
