package limit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The contract's budgets, in requests a minute of a key (Limits).
const (
	ReportPerMinute   = 120 // for each report operation
	StandardPerMinute = 120 // in the standard tier

	// MaxPerMinute is the largest allowance that can be metered beside them: a report's permit and the tier's fill a batch.
	MaxPerMinute = (maxBatch-1)*(ReportPerMinute+1) - 1
)

// StreamConfigs are the configurations of the streams that meter the contract's budgets, with an allowance of premium requests
// a minute in the premium tier. Readers make the streams that they miss, with one replica. The error is an allowance that can't
// be metered.
func StreamConfigs(premium, replicas int) ([]jetstream.StreamConfig, error) {
	var configs []jetstream.StreamConfig
	for _, tier := range slices.Compact([]int{StandardPerMinute, premium}) {
		w, err := weigh(tier, ReportPerMinute)
		if err != nil {
			return nil, err
		}
		c := streamConfig(tier, ReportPerMinute, w, defaultWindow)
		c.Replicas = replicas
		configs = append(configs, c)
	}
	return configs, nil
}

// streamConfig is the configuration of an allowance's stream. Its name says what its sizes follow from, so that readers with
// other settings have another stream rather than fight over this one's.
func streamConfig(tier, report int, w weights, window time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 fmt.Sprintf("LIMITS_%d_%d", tier, report),
		Description:          fmt.Sprintf("Permits of the last %s: %d a key, %d of each report operation.", window, tier, report),
		Subjects:             []string{subject(tier, report, "*", "*")},
		Storage:              jetstream.MemoryStorage,
		MaxAge:               window,
		MaxMsgsPerSubject:    int64(w.size),
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		AllowAtomicPublish:   true,
		AllowDirect:          true,
	}
}

func subject(tier, report int, lineage, name string) string {
	return fmt.Sprintf("callboard.limits.%d_%d.%s.%s", tier, report, lineage, name)
}

// CheckStream holds a running stream's settings against those that make its permits count. Where it is kept, and how often, is
// its operator's to say.
func CheckStream(running, wanted jetstream.StreamConfig) error {
	c := running
	if slices.Equal(c.Subjects, wanted.Subjects) && c.SubjectTransform == nil && c.Retention == wanted.Retention &&
		c.MaxAge == wanted.MaxAge && c.MaxMsgsPerSubject == wanted.MaxMsgsPerSubject &&
		c.Discard == wanted.Discard && c.DiscardNewPerSubject && c.AllowAtomicPublish && c.AllowDirect {
		return nil
	}
	return errors.New("its settings are not those of a limiter; delete it, and it is made anew")
}
