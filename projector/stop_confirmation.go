package projector

import (
	"time"

	"callboard/projector/ingest"
	"callboard/projector/retry"
)

// stopConfirmation confirms what is to stop a partition of a replicated stream.
type stopConfirmation struct{ retry.Confirmation }

// confirms tells whether the partition is to stop for a reason now.
func (d *stopConfirmation) confirms(stop *ingest.StopError, now time.Time) bool {
	return !stop.MayBeStale() || d.Confirms(stop.Reason, now)
}
