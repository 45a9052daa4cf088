package deadletter

import "time"

// State is where a letter stands.
type State string

// The states. A letter that is open or waits can be retried and dropped; the others are settled.
const (
	Open    State = "open"
	Waiting State = "waiting" // for a retry that somebody asked for
	Applied State = "applied"
	Stale   State = "stale"   // a retry found a later state of the same entity
	Ignored State = "ignored" // a retry found nothing for it to change
	Dropped State = "dropped"
	Gone    State = "gone" // with the generation that it belonged to
)

// Settled tells whether nothing more can become of a letter.
func (s State) Settled() bool { return s != Open && s != Waiting }

// Letter is a dead letter without what was in it.
type Letter struct {
	ID               int64      `json:"id"`
	State            State      `json:"state"`
	Stream           string     `json:"stream"`
	StreamCreated    time.Time  `json:"streamCreated"`
	Sequence         int64      `json:"sequence"`
	Partition        int        `json:"partition"`
	Subject          string     `json:"subject"`
	Reason           string     `json:"reason"`
	StoredAt         time.Time  `json:"storedAt"` // by the stream
	RecordedAt       time.Time  `json:"recordedAt"`
	RetryRequestedAt *time.Time `json:"retryRequestedAt"` // when somebody asked for the retry that it waits for
	ResolvedAt       *time.Time `json:"resolvedAt"`
}
