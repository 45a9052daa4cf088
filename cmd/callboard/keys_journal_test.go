package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// An entry is never replaced by one of a later end, and an end that the database has lost since is in it again.
func TestPublishEnd(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	owner, registry := database.Pool(t), keyRegistry(database.RolePool(t, "callboard_operator"))
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := js.CreateStream(t.Context(), events.KeyStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	pepper, err := access.NewPepper(bytes.Repeat([]byte("p"), 32))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	later := now.Add(time.Hour)
	for name, c := range map[string]struct {
		database, command, want access.Record // their ends
	}{
		"another command revoked the key meanwhile": {
			access.Record{RevokedAt: &now}, access.Record{ExpiresAt: &later}, access.Record{RevokedAt: &now, ExpiresAt: &later},
		},
		"the database failed over meanwhile": {
			access.Record{}, access.Record{RevokedAt: &now}, access.Record{RevokedAt: &now},
		},
	} {
		key, err := access.NewRegistry(owner, pepper).Issue(t.Context(), access.KeySpec{
			Name: name, Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.MustParse(systemID)}, Scopes: []access.Scope{access.ScopeCalls},
		})
		if err != nil {
			t.Fatal(err)
		}
		schematest.Exec(t, owner, "update access.key set revoked_at = $2, expires_at = $3 where id = $1", key.ID, c.database.RevokedAt, c.database.ExpiresAt)
		c.command.ID = key.ID
		if err := publishEnd(t.Context(), js, registry, c.command); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := events.KeyEnd{ID: c.command.ID, RevokedAt: c.want.RevokedAt, ExpiresAt: c.want.ExpiresAt}
		var entry events.KeyEnd
		if _, err := new(events.KeyEndReader).Read(t.Context(), js, func(list []events.KeyEnd) error {
			for _, e := range list {
				if e.ID == key.ID {
					entry = e
				}
			}
			return nil
		}); err != nil || !entry.Same(want) {
			t.Errorf("%s: entry = %+v, error = %v, want %+v", name, entry, err, want)
		}
		shown, err := registry.Show(t.Context(), c.command.ID)
		if got := (events.KeyEnd{ID: shown.ID, RevokedAt: shown.RevokedAt, ExpiresAt: shown.ExpiresAt}); err != nil || !got.Same(want) {
			t.Errorf("%s: key = %+v, error = %v, want %+v", name, got, err, want)
		}
	}
}
