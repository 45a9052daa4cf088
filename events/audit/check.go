package audit

import (
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// CheckStream says in a sentence each what in a running stream's settings would lose entries.
func CheckStream(running jetstream.StreamConfig) []string {
	var faults []string
	unsafe := func(is bool, format string, values ...any) {
		if is {
			faults = append(faults, "stream "+running.Name+" "+fmt.Sprintf(format, values...))
		}
	}
	unsafe(running.Storage != jetstream.FileStorage, "is not in files: a restart loses what is not filed yet.")
	unsafe(running.MaxAge > 0, "forgets after %s: what a projector did not file by then is lost.", running.MaxAge)
	limited := running.MaxMsgs > 0 || running.MaxBytes > 0 || running.MaxMsgsPerSubject > 0
	unsafe(limited && running.Discard != jetstream.DiscardNew, "makes room by forgetting: set its discard policy to new.")
	unsafe(running.Retention != jetstream.WorkQueuePolicy, "keeps what is filed: set its retention to work queue.")
	unsafe(running.NoAck, "acknowledges nothing: readers soon refuse every request.")
	return faults
}
