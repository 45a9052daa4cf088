package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysIssueCommand struct {
	output
	Name         string           `required:"" help:"What people call the key."`
	System       *uuid.UUID       `xor:"grant" required:"" placeholder:"UUID" help:"Grant one phone system. One of --system, --group and --organization is given."`
	Group        *uuid.UUID       `xor:"grant" required:"" placeholder:"UUID" help:"Grant the current members of a phone system group."`
	Organization *uuid.UUID       `xor:"grant" required:"" placeholder:"UUID" help:"Grant the phone systems directly attached to an organization."`
	Scopes       []string         `required:"" placeholder:"A:READ" help:"What the key may read: ${scopes}."`
	OwnExtension *uuid.UUID       `placeholder:"UUID" help:"Narrow calls:read to this extension's own calls."`
	Allow        []string         `placeholder:"CIDR" help:"Accept the key from these networks alone."`
	Expires      *time.Duration   `placeholder:"720h" help:"How long the key lives; for ever by default."`
	Tier         string           `enum:"standard,premium" default:"standard" help:"The rate tier: standard or premium."`
	Postgres     setting.Postgres `embed:""`
	Pepper       setting.Pepper   `embed:""`
}

// Run issues a key.
func (c *keysIssueCommand) Run(ctx context.Context, streams process.Streams) error {
	request, err := c.request(time.Now())
	if err != nil {
		return err
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		issued, err := access.NewRegistry(pool, c.Pepper.Peppers.Get()[0]).Issue(ctx, request)
		if err != nil {
			return misused(err)
		}
		shown := show(issued)
		return c.print(streams.Out, shown, func(w io.Writer) error { return shown.write(w) })
	})
}

// request is what the flags ask for.
func (c *keysIssueCommand) request(now time.Time) (access.Request, error) {
	r := access.Request{Name: c.Name, Tier: access.Tier(c.Tier)}
	for kind, id := range map[access.GrantKind]*uuid.UUID{
		access.GrantSystem: c.System, access.GrantGroup: c.Group, access.GrantOrganization: c.Organization,
	} {
		if id != nil {
			r.Grant = access.Grant{Kind: kind, ID: *id}
		}
	}
	for _, s := range c.Scopes {
		r.Scopes = append(r.Scopes, access.Scope(strings.TrimSpace(s)))
	}
	if c.OwnExtension != nil {
		r.OwnExtension = uuid.NullUUID{UUID: *c.OwnExtension, Valid: true}
	}
	if c.Expires != nil {
		if *c.Expires <= 0 {
			return r, &process.UsageError{Detail: "--expires is how long from now, such as 720h"}
		}
		r.Expires = now.Add(*c.Expires)
	}
	var err error
	r.Networks, err = c.networks()
	return r, err
}

func (c *keysIssueCommand) networks() (list []netip.Prefix, err error) {
	for _, text := range c.Allow {
		network, err := access.ParseNetwork(strings.TrimSpace(text))
		if err != nil {
			return nil, &process.UsageError{Detail: "--allow: " + err.Error()}
		}
		list = append(list, network)
	}
	return list, nil
}

// shownKey is a key at the one moment when it is shown whole.
type shownKey struct {
	ID  uuid.UUID `json:"id"`
	Key string    `json:"key"`
	access.Record
}

func show(k access.IssuedKey) shownKey {
	return shownKey{ID: k.ID, Key: k.Key.Reveal(), Record: k.Record}
}

func (k shownKey) write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n\nThis is the key. It is shown this once: keep it now.\n\n", k.Key); err != nil {
		return err
	}
	return writeKey(w, k.Record)
}
