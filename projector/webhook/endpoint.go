package webhook

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/lane"
	"callboard/projector/webhook/vault"
)

// endpoint is an active endpoint of an owned shard.
type endpoint struct {
	settings
	lane       *lane.Lane[delivery]
	connection *egress.Endpoint // nil: the URL is refused, as refused says
	refused    error
	secrets    []webhook.Secret // empty: a key is missing, and deliveries wait
	unrecorded int              // requests whose outcome is not recorded
	retired    bool             // nothing is sent any more
}

// settings are a row of endpoints.sql.
type settings struct {
	id          uuid.UUID
	shard       int
	url         string
	concurrency int
	lastChange  int64 // its id in the audit; 0: none
	sealed      []sealedSecret
}

type sealedSecret struct {
	id uuid.UUID
	vault.Sealed
}

// differs tells whether an endpoint was changed, or one of its secrets has expired.
func (c settings) differs(other settings) bool {
	return c.lastChange != other.lastChange || len(c.sealed) != len(other.sealed)
}

func (e *endpoint) close() {
	if e.connection != nil {
		e.connection.Close()
	}
}

// refresh is what endpoints.sql returned for shards.
type refresh struct {
	owned []int
	list  []settings
	err   error
}

//go:embed endpoints.sql
var endpointsSQL string

// startRefresh reads the endpoints of the owned shards, unless a read is running.
func (d *dispatcher) startRefresh(ctx context.Context) {
	if d.refreshing {
		return
	}
	d.refreshing, d.refreshAgain, d.refreshOutdated = true, false, false
	owned := d.owned
	go func() {
		list, err := d.readEndpoints(ctx, owned)
		d.refreshed <- refresh{owned, list, err}
	}()
}

func (s *Sender) readEndpoints(ctx context.Context, shards []int) ([]settings, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	rows, _ := s.config.Database.Query(ctx, endpointsSQL, shards)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c settings, err error) {
		var ids []uuid.UUID
		var sealed [][]byte
		var keys []string
		err = row.Scan(&c.id, &c.shard, &c.url, &c.concurrency, &c.lastChange, &ids, &sealed, &keys)
		for i, id := range ids {
			c.sealed = append(c.sealed, sealedSecret{id, vault.Sealed{KeyID: keys[i], Data: sealed[i]}})
		}
		return c, err
	})
}

// applyRefresh makes the lanes those of the endpoints that were read. An endpoint that was changed starts again with an empty lane, since the
// change can have removed deliveries.
func (d *dispatcher) applyRefresh(ctx context.Context, r refresh) {
	d.refreshing = false
	outdated := d.refreshOutdated
	if d.refreshAgain || outdated {
		d.startRefresh(ctx)
	}
	if r.err != nil {
		if ctx.Err() == nil {
			d.config.Log.Error().Err(r.err).Msg("reading webhook endpoints failed")
		}
		return
	}
	if outdated {
		return
	}
	active := make(map[uuid.UUID]settings)
	for _, c := range r.list {
		if slices.Contains(d.owned, c.shard) {
			active[c.id] = c
		}
	}
	for id, e := range d.endpoints {
		if c, ok := active[id]; !ok || c.differs(e.settings) {
			d.retire(e)
		}
	}
	for id, c := range active {
		if d.endpoints[id] == nil {
			d.open(c)
		}
	}
	d.metrics.setLanes(d.endpoints)
}

// open starts to send to an endpoint.
func (d *dispatcher) open(c settings) {
	e := &endpoint{settings: c, lane: lane.New[delivery](c.concurrency)}
	e.connection, e.refused = d.config.Client.Connect(c.url, c.concurrency)
	d.endpoints[c.id] = e
	d.openSecrets(e)
}

// openSecrets opens the secrets of an endpoint. While one can't be opened, nothing is sent.
func (d *dispatcher) openSecrets(e *endpoint) {
	secrets, err := openSecrets(d.config.Vault, e.id, e.sealed)
	if err != nil {
		d.config.Log.Error().Err(err).Stringer("endpoint", e.id).Msg("opening webhook secrets failed: deliveries wait")
		return
	}
	e.secrets = secrets
	d.mark(e)
}

var errNoSecret = errors.New("the endpoint has no valid secret: run 'callboard webhooks rotate'")

// openSecrets returns the plain secrets.
func openSecrets(v *vault.Vault, endpoint uuid.UUID, sealed []sealedSecret) ([]webhook.Secret, error) {
	if len(sealed) == 0 {
		return nil, errNoSecret
	}
	secrets := make([]webhook.Secret, len(sealed))
	for i, s := range sealed {
		plain, err := v.Open(endpoint, s.id, s.Sealed)
		if err != nil {
			return nil, err
		}
		if secrets[i], err = webhook.ParseSecret(string(plain)); err != nil {
			return nil, fmt.Errorf("open secret %s of endpoint %s: %w", s.id, endpoint, err)
		}
	}
	return secrets, nil
}
