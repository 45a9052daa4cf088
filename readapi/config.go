package readapi

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/docs"
	"callboard/readapi/limit"
	"callboard/readapi/query"
)

// Config configures the reader. The caller closes the pools, after the handler's last request.
type Config struct {
	// Primary is a pool of role callboard_reader on the primary. Every request's key, grant and coverage are checked
	// there, and the accessible phone systems are listed from there.
	Primary *pgxpool.Pool

	// Projection is a pool that everything else is read from, on a replica for example. Nil means Primary.
	Projection *pgxpool.Pool

	// Peppers are the secrets under which keys are accepted, the current pepper first. At least one is required.
	Peppers []access.Pepper

	// Limiter takes a permit from a key's quota for every request.
	Limiter *limit.Limiter

	// AuditQueue receives the audit entries. It must run until the handler's last request has ended.
	AuditQueue *auditqueue.Queue

	// Secret seals cursors and audio links. All readers of a service need the same one. It has at least
	// [access.MinSecret] bytes.
	Secret []byte

	// Audio is where the audio of recordings is stored.
	Audio audio.Location

	// BaseURL is the public URL of the service. It ends in /v1, and the operations are served below its path.
	BaseURL string

	// TrustedProxies are the networks whose X-Forwarded-For header is trusted.
	TrustedProxies []netip.Prefix

	// CoverageMaxAge is how far the partition that decides about a key's group or organization may be behind. Requests
	// of such keys are answered 503 while it is further behind. Zero means any age.
	CoverageMaxAge time.Duration

	// Timeout is the longest duration of a request. Zero means 5 seconds.
	Timeout time.Duration

	// DimensionsTimeout is the longest duration of a snapshot of report dimensions. Zero means 3 seconds.
	DimensionsTimeout time.Duration

	// BodyMemory is the number of bytes that all responses may take at the same time. Zero means 192 MiB. 14 MiB is the
	// least.
	BodyMemory int64

	// Log receives one line per request.
	Log zerolog.Logger

	// Metrics registers the reader's metrics. Nil means that they are not exported.
	Metrics prometheus.Registerer

	watermarkWait time.Duration // of a provisional report page; zero: 1.5 seconds
	slowGrace     time.Duration // of a client that reads slowly; zero: 5 seconds

	now func() time.Time // the reader's clock, to which watermarks are compared and by which keys are remembered; nil: time.Now
}

const (
	defaultTimeout           = 5 * time.Second
	defaultDimensionsTimeout = 3 * time.Second
	defaultWatermarkWait     = 1500 * time.Millisecond
)

// New returns the reader's HTTP handler. The error says what is wrong with the configuration. New panics if the metrics
// are registered already.
func New(c Config) (http.Handler, error) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return nil, err
	}
	return newService(c, approvals)
}

// complete sets defaults. The error names what is missing.
func (c *Config) complete() error {
	if c.Primary == nil || c.Limiter == nil || c.AuditQueue == nil {
		return errors.New("primary pool, limiter or audit queue is missing")
	}

	// The zero value of a setting means its default.
	c.Projection = cmp.Or(c.Projection, c.Primary)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.BodyMemory = cmp.Or(c.BodyMemory, defaultBodyMemory)
	c.DimensionsTimeout = cmp.Or(c.DimensionsTimeout, defaultDimensionsTimeout)
	c.watermarkWait = cmp.Or(c.watermarkWait, defaultWatermarkWait)
	c.slowGrace = cmp.Or(c.slowGrace, defaultSlowGrace)

	if c.now == nil {
		c.now = time.Now
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}

func newService(c Config, approvals docs.Approvals) (http.Handler, error) {
	base, err := parseBaseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := c.complete(); err != nil {
		return nil, err
	}

	projection := query.New(c.Projection)
	s := &service{
		projection:   projection,
		publicRoutes: make(map[string]publicRoute),
		limiter:      c.Limiter,
		auditQueue:   c.AuditQueue,

		proxies:   c.TrustedProxies,
		base:      base.String(),
		timeout:   c.Timeout,
		maxAge:    c.CoverageMaxAge,
		slowGrace: c.slowGrace,

		now:     c.now,
		log:     c.Log,
		metrics: newMetrics(c.Metrics, projection),
	}

	// Every operation needs the authorizer, the memory and the compressor.
	if s.authorizer, err = access.NewAuthorizer(c.Primary, c.Peppers, c.now); err != nil {
		return nil, err
	}
	if s.memory, err = newMemory(c.BodyMemory, largeBytes, c.Metrics); err != nil {
		return nil, err
	}
	if s.compressor, err = newCompressor(); err != nil {
		return nil, err
	}

	// The operations need the store of audio and the reports.
	store, err := audio.Open(c.Audio, audioPath(base.String()), c.Secret)
	if err != nil {
		return nil, err
	}
	reports, err := newReports(projection, c)
	if err != nil {
		return nil, err
	}

	// The approval record decides which operations are served.
	served, err := approved(operations(query.New(c.Primary), projection, store, reports), approvals)
	if err != nil {
		return nil, err
	}
	s.routes = newRoutes(base.EscapedPath(), served)

	// These routes need no key.
	if folder, ok := store.(*audio.Folder); ok {
		s.publicRoutes[audioPath(base.EscapedPath())] = audioRoute(folder, c.TrustedProxies)
	}
	prefix := strings.TrimSuffix(base.EscapedPath(), "/v1")
	return s, addDescription(s.publicRoutes, base.String(), prefix, approvals, c.slowGrace)
}

func parseBaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil,
		base.Scheme != "http" && base.Scheme != "https",
		base.Host == "", base.User != nil,
		base.RawQuery != "" || base.ForceQuery || base.Fragment != "" || base.RawPath != "",
		strings.ContainsAny(base.Path, "{}"), // they would be variables of the routes
		!strings.HasSuffix(base.Path, "/v1"):
		return nil, errors.New("invalid base URL: use an http or https URL that ends in /v1, without credentials, " +
			"query and fragment")
	}
	return base, nil
}
