package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"callboard/projector/fold"
)

// Replace puts a state that started from nothing, and is about one phone system, in the place of that system's rows. It returns how
// many rows that makes. [uuid.Nil] stands for what belongs to no single system.
func (tx *Tx) ReplaceSystem(ctx context.Context, system uuid.UUID, state *fold.State) (rows int64, err error) {
	for _, r := range relations() {
		if r.global() {
			if system == uuid.Nil {
				_, err = tx.tx.Exec(ctx, "delete from "+r.name)
			}
		} else {
			_, err = tx.tx.Exec(ctx, fmt.Sprintf("delete from %s where %s = $1", r.name, r.columns[0]), pgUUID(system))
		}
		if err != nil {
			return 0, fmt.Errorf("replace %s: %w", r.name, err)
		}
	}
	return CopyState(ctx, tx.tx.Conn(), state)
}
