package store

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed systems.sql
var systemsSQL string

// Systems are the phone systems that any table has rows of, each once, in order; [uuid.Nil] is among them where there are rows that
// belong to none. It takes as long as there are systems, however many rows they have.
func PhoneSystemIDs(ctx context.Context, conn *pgx.Conn, shape Catalog) ([]uuid.UUID, error) {
	var selections []string
	for _, r := range shape.has(Tables()) {
		if r.global() {
			selections = append(selections, fmt.Sprintf("select '%s'::uuid where exists (select from %s%s)", uuid.Nil, shape.prefix, r.name))
		} else {
			selections = append(selections, fmt.Sprintf(systemsSQL, shape.prefix+r.name, r.columns[0]))
		}
	}
	result, err := conn.Query(ctx, strings.Join(selections, " union ")+" order by 1")
	if err != nil {
		return nil, fmt.Errorf("systems: %w", err)
	}
	list, err := pgx.CollectRows(result, func(row pgx.CollectableRow) (uuid.UUID, error) {
		var id uuid.UUID
		err := row.Scan((*[16]byte)(&id))
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("systems: %w", err)
	}
	return list, nil
}
