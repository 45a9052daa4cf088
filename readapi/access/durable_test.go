package access

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/schema/schematest"
)

// What is written about keys is on the disk when it is acknowledged, whatever the default of the database is.
func TestRegistry_CommitsDurably(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *Registry, id uuid.UUID) error{
		"issue":  func(r *Registry, _ uuid.UUID) error { _, err := r.Issue(t.Context(), minimalSpec()); return err },
		"roll":   func(r *Registry, id uuid.UUID) error { _, err := r.Roll(t.Context(), id, Roll{}); return err },
		"revoke": func(r *Registry, id uuid.UUID) error { _, err := r.Revoke(t.Context(), id); return err },
		"withdraw": func(r *Registry, id uuid.UUID) error {
			now := time.Now()
			_, err := r.Withdraw(t.Context(), id, nil, &now)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := schematest.New(t)
			pepper := pepperOf(t, 'a')
			key, err := NewRegistry(database.RolePool(t, "callboard_operator"), pepper).Issue(t.Context(), minimalSpec())
			if err != nil {
				t.Fatal(err)
			}
			levels := database.CommitLevels(t, "access.key")
			if err := change(NewRegistry(database.RolePool(t, "callboard_operator"), pepper), key.ID); err != nil {
				t.Fatal(err)
			}
			if got := levels(); !slices.Equal(got, []string{"on"}) {
				t.Errorf("synchronous_commit = %v, want on", got)
			}
		})
	}
}

// Withdraw returns the key as it is afterwards, with the earlier ends.
func TestRegistry_Withdraw(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.issue(minimalSpec())
	now := time.Now().UTC().Truncate(time.Microsecond)
	later := now.Add(time.Hour)
	for _, c := range []struct {
		revokedAt, expiresAt         *time.Time
		wantRevokedAt, wantExpiresAt *time.Time
	}{
		{nil, &later, nil, &later},
		{&later, nil, &later, &later},
		{&now, nil, &now, &later},
		{&later, &later, &now, &later},
		{nil, nil, &now, &later},
	} {
		got, err := h.registry.Withdraw(t.Context(), key.ID, c.revokedAt, c.expiresAt)
		if err != nil || !equalTimes(got.RevokedAt, c.wantRevokedAt) || !equalTimes(got.ExpiresAt, c.wantExpiresAt) {
			t.Errorf("key = %+v, error = %v, want %v, %v", got.Record, err, c.wantRevokedAt, c.wantExpiresAt)
		}
	}
	if _, err := h.registry.Withdraw(t.Context(), uuid.New(), &now, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("unknown key: error = %v, want ErrUnknownKey", err)
	}
}

func equalTimes(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}
