package access

import (
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// State is whether a key opens anything.
type State string

// The states.
const (
	StateActive  State = "active"
	StateExpired State = "expired"
	StateRevoked State = "revoked"
)

// Record is what is kept of a key, as operators see it. The key itself is not in it.
type Record struct {
	ID              uuid.UUID      `json:"id"`
	Lineage         uuid.UUID      `json:"lineage"`
	Pepper          string         `json:"pepper"` // the id of the one that the key is hashed under
	Name            string         `json:"name"`
	Short           string         `json:"short"`
	Grant           Grant          `json:"grant"`
	Scopes          []Scope        `json:"scopes"`
	OwnExtension    uuid.NullUUID  `json:"ownExtension"`
	Networks        []netip.Prefix `json:"allow"`
	Tier            Tier           `json:"tier"`
	CreatedAt       time.Time      `json:"createdAt"`
	ExpiresAt       *time.Time     `json:"expiresAt"`
	RevokedAt       *time.Time     `json:"revokedAt"`
	State           State          `json:"state"`
	LastUsedAt      *time.Time     `json:"lastUsedAt"`      // nil: never
	LastUsedAddress *netip.Addr    `json:"lastUsedAddress"` // nil: never, or not known
}

// KeyWithLineage is a key with all of its lineage.
type KeyWithLineage struct {
	Record
	LineageKeys []Record `json:"lineageKeys"` // newest first; the key itself is among them
}

// Successor is the newest live key of those that the key was rolled into; nil where there is none.
func (f KeyWithLineage) Successor() *Record {
	for i, k := range f.LineageKeys {
		if k.ID == f.ID {
			break
		}
		if k.State == StateActive {
			return &f.LineageKeys[i]
		}
	}
	return nil
}

func scanRecord(row pgx.CollectableRow) (Record, error) {
	var r Record
	err := row.Scan(
		&r.ID, &r.Lineage, &r.Pepper, &r.Name, &r.Short, &r.Grant.Kind, &r.Grant.ID, &r.Scopes, &r.OwnExtension, &r.Networks, &r.Tier,
		&r.CreatedAt, &r.ExpiresAt, &r.RevokedAt, &r.State, &r.LastUsedAt, &r.LastUsedAddress,
	)
	return r, err
}
