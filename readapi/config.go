package readapi

import (
	"errors"
	"fmt"
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
	"callboard/readapi/audit"
	"callboard/readapi/docs"
	"callboard/readapi/limit"
	"callboard/readapi/query"
)

// Config is what the reader is made of. The pools stay the caller's to close, after the handler's last request.
type Config struct {
	// Primary is a pool of role callboard_reader on the primary. Every request's key and coverage are decided here, and what a
	// key covers is listed from here.
	Primary *pgxpool.Pool

	// Projection is where all else is read from, a replica for example. Nil means Primary.
	Projection *pgxpool.Pool

	// Peppers are those under which keys are accepted, the current one first. There is at least one.
	Peppers []access.Pepper

	// Limiter says whether a key's budget allows a request.
	Limiter *limit.Limiter

	// AuditQueue takes the audit entries. It must run longer than the handler.
	AuditQueue *audit.Queue

	// Secret is what cursors and links to audio are sealed with, the same for all readers of a service. At least
	// [seal.MinSecret] bytes.
	Secret []byte

	// Audio is where the recordings' audio is.
	Audio audio.Location

	// BaseURL is the public address of the service. It ends in /v1, and the operations are mounted under its path.
	BaseURL string

	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix

	// Timeout is the longest that a request may take. Zero means 5 seconds.
	Timeout time.Duration

	// DimensionsBudget is the longest that the snapshot of report dimensions may take. Zero means 3 seconds.
	DimensionsBudget time.Duration

	// Log gets one line a request.
	Log zerolog.Logger

	// Metrics is where the reader's metrics are registered. Nil means nowhere.
	Metrics prometheus.Registerer

	watermarkWait time.Duration // zero: a second
}

const (
	defaultTimeout          = 5 * time.Second
	defaultDimensionsBudget = 3 * time.Second
	defaultWatermarkWait    = time.Second
)

// New is the reader. The error says what in the configuration can't be served with.
func New(c Config) (http.Handler, error) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return nil, err
	}
	return newService(c, approvals)
}

func newService(c Config, approvals docs.Approvals) (http.Handler, error) {
	base, err := parseBaseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	if c.Primary == nil {
		return nil, errors.New("no pool on the primary")
	}
	if c.Limiter == nil || c.AuditQueue == nil {
		return nil, errors.New("no limiter or no audit queue")
	}
	if c.Projection == nil {
		c.Projection = c.Primary
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.DimensionsBudget <= 0 {
		c.DimensionsBudget = defaultDimensionsBudget
	}
	if c.watermarkWait == 0 {
		c.watermarkWait = defaultWatermarkWait
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	authorizer, err := access.NewAuthorizer(c.Primary, c.Peppers)
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	store, err := audio.Open(c.Audio, audioPath(base.String()), c.Secret)
	if err != nil {
		return nil, err
	}
	resources := make(map[string]resource)
	if folder, ok := store.(*audio.Folder); ok {
		resources[audioPath(base.EscapedPath())] = audioFiles(folder)
	}
	if err := addDescription(resources, base.String(), strings.TrimSuffix(base.EscapedPath(), "/v1"), approvals); err != nil {
		return nil, err
	}
	projection := query.New(c.Projection)
	reports, err := newReports(projection, c)
	if err != nil {
		return nil, err
	}
	register, err := published(operations(query.New(c.Primary), projection, store, reports), approvals)
	if err != nil {
		return nil, err
	}
	return &service{
		routes:     newRoutes(base.EscapedPath(), register),
		resources:  resources,
		authorizer: authorizer,
		limiter:    c.Limiter,
		auditQueue: c.AuditQueue,
		proxies:    c.TrustedProxies,
		base:       base.String(),
		timeout:    c.Timeout,
		log:        c.Log,
		metrics:    metrics,
	}, nil
}

func parseBaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil,
		base.Scheme != "http" && base.Scheme != "https",
		base.Host == "", base.User != nil,
		base.RawQuery != "" || base.ForceQuery || base.Fragment != "" || base.RawPath != "",
		strings.ContainsAny(base.Path, "{}"), // would be variables of the routes
		!strings.HasSuffix(base.Path, "/v1"):
		return nil, errors.New("the base URL is an http or https URL that ends in /v1")
	}
	return base, nil
}
