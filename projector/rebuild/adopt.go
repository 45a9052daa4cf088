package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// Adoption is what the adoption of a stream did.
type Adoption struct {
	Stream     string      `json:"stream"`       // that is read now
	Replaced   string      `json:"replaced"`     // the stream that was read before; empty: it was gone
	Adopted    bool        `json:"adopted"`      // false: an earlier command had adopted it
	Last       uint64      `json:"lastSequence"` // sequence of the last message that both have
	Pause      Seconds     `json:"publishPauseSeconds"`
	Comparison *Comparison `json:"comparison"` // of the served rows with the adopted stream; null: none was made
}

// ErrDiffers means that the served rows differ from what the stream to be adopted says.
var ErrDiffers = errors.New("the served rows are not what the stream says, so nothing was changed")

// raiseEpochsSQL makes every projector's next commit fail, so that it opens the stream again.
const raiseEpochsSQL = "update projection.position set epoch = epoch + 1"

// Adopt makes a mirror of the stream that is read take that stream's place: same messages, sequences and times, so positions and everything on
// record stay valid. With compare, the served rows are compared with the mirror before. Publishers get no acknowledgement while the pause
// lasts. A stream that is gone needs no mirror with its whole end: every position must be in the adopted one. After an interruption, the next
// run continues. The result has the comparison also with [ErrDiffers].
func Adopt(ctx context.Context, c Config, name string, compare bool) (result Adoption, err error) {
	err = withLock(ctx, c, false, func(c Config) error {
		a := &adopter{config: c, result: Adoption{Stream: name}}
		err := a.run(ctx, name, compare)
		result = a.result
		return err
	})
	return result, err
}

// adopter makes a stream take the place of another one.
type adopter struct {
	config   Config
	replaced *ingest.Source // nil: it is gone
	adopted  *source
	promoted jetstream.StreamConfig // with which the adopted stream takes events
	isOpen   bool                   // it takes them
	result   Adoption
}

func (a *adopter) run(ctx context.Context, name string, compare bool) error {
	a.config.Progress(Progress{Step: StepPlan})
	if already, err := a.open(ctx, name); already || err != nil {
		return err
	}
	if a.replaced != nil {
		if err := a.adopted.awaitMirror(ctx, a.replaced.CachedInfo().State.LastSeq); err != nil {
			return err
		}
	}
	if compare {
		if err := a.compare(ctx); err != nil {
			return err
		}
	}
	a.config.Progress(Progress{Step: StepSwitch})
	return a.replace(ctx)
}

// open finds the stream that is read and the one that is to be adopted, and checks them.
func (a *adopter) open(ctx context.Context, name string) (already bool, err error) {
	history, err := a.history(ctx)
	if err != nil {
		return false, err
	}
	read, err := ingest.OpenSource(ctx, a.config.JetStream, a.config.Database, a.config.Stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return false, err
	case read.Name() == name && read.History.Same(history):
		a.result.Last = read.CachedInfo().State.LastSeq
		return true, nil
	case read.Name() == name: // a stream with the name of the one that is gone
	case !read.History.Same(history):
		return false, fmt.Errorf("the projection is built from another stream than %s: run 'callboard rebuild'", read.Name())
	default:
		a.replaced, a.result.Replaced = &read, read.Name()
	}
	return false, a.openAdopted(ctx, name, history)
}

// history returns the identity under which the live generation's positions are recorded.
func (a *adopter) history(ctx context.Context) (history store.Stream, err error) {
	var positions map[int16]store.Position
	err = withConn(ctx, a.config.Database, func(conn *pgx.Conn) error {
		positions, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	for _, p := range positions {
		if history.Name != "" && !p.Stream.Same(history) {
			return history, errors.New("the projection is built from several streams: run 'callboard rebuild'")
		}
		history = p.Stream
	}
	if err == nil && history.Name == "" {
		err = errors.New("no projector has read a stream yet, so none can be replaced: set CALLBOARD_STREAM to the stream that is to be read")
	}
	return history, err
}

func (a *adopter) openAdopted(ctx context.Context, name string, history store.Stream) error {
	partitions, err := store.RegisteredPartitions(ctx, a.config.Database, history)
	if err != nil {
		return err
	}
	adopted, err := ingest.OpenMirror(ctx, a.config.JetStream, name, history, partitions)
	if err != nil {
		return err
	}
	config := adopted.CachedInfo().Config
	a.isOpen, a.promoted = config.Mirror == nil, events.PromotedConfig(config, partitions)
	if err := a.check(config, partitions); err != nil {
		return err
	}
	a.config.opened = &adopted
	a.adopted, _, err = newSource(ctx, a.config)
	return err
}

// check refuses a stream that has not all messages of the one that is read, or would not keep them.
func (a *adopter) check(config jetstream.StreamConfig, partitions int) error {
	checked := a.promoted
	switch mirror := config.Mirror; {
	case mirror != nil:
		if a.replaced != nil && mirror.Name != a.replaced.Name() {
			return fmt.Errorf("stream %s is a mirror of %s, not of %s", config.Name, mirror.Name, a.replaced.Name())
		}
		checked.Mirror = mirror // for the rules about mirrors
	case a.replaced != nil && !events.Closed(a.replaced.CachedInfo().Config):
		return fmt.Errorf("stream %s is not a mirror of %s: create one with 'callboard stream mirror' under another name", config.Name, a.replaced.Name())
	default: // an interrupted run has promoted it, or an operator
		if now, err := events.Partitions(config); err != nil || now != partitions {
			return errors.Join(fmt.Errorf("stream %s has not the %d partitions of the one that it is to replace", config.Name, partitions), err)
		}
	}
	if unsafe := events.CheckStream(checked); len(unsafe) > 0 {
		return fmt.Errorf("stream %s has unsafe settings:\n%s", config.Name, strings.Join(unsafe, "\n"))
	}
	return nil
}

// compare compares the served rows with the adopted stream.
func (a *adopter) compare(ctx context.Context) error {
	v := &verifier{config: a.config, store: store.New(a.config.Database), collector: newCollector(a.config)}
	comparison, err := v.run(ctx, nil)
	if err != nil {
		return err
	}
	a.result.Comparison = &comparison
	if comparison.Differs() && !comparison.OtherDefinition {
		return ErrDiffers
	}
	return nil
}

// replace closes the stream that is read, promotes the adopted one, and makes all projectors read it. What fails before the promotion makes
// the former stream take events again.
func (a *adopter) replace(ctx context.Context) (err error) {
	began := time.Now()
	defer func() { a.result.Pause = since(began) }()
	if a.replaced != nil {
		defer func() {
			if err != nil && !a.isOpen {
				err = errors.Join(err, events.ReopenStream(ctx, a.config.JetStream, a.replaced.Name()))
			}
		}()
		if a.result.Last, err = a.close(ctx); err != nil {
			return err
		}
		if err := a.adopted.awaitMirror(ctx, a.result.Last); err != nil {
			return err
		}
	}
	_, err = retryPause(ctx, a.config, func() (time.Duration, error) {
		return 0, beginDurably(ctx, a.config.Database, func(tx pgx.Tx) error { return a.adopt(ctx, tx) })
	})
	a.result.Adopted = err == nil
	if err != nil && a.isOpen {
		return fmt.Errorf("stream %s takes events now, and no projector reads it yet: run the command again: %w", a.adopted.Name(), err)
	}
	return err
}

// close closes the stream that is read, unless an interrupted run has, and returns its last sequence.
func (a *adopter) close(ctx context.Context) (last uint64, err error) {
	if info := a.replaced.CachedInfo(); events.Closed(info.Config) {
		return info.State.LastSeq, nil
	}
	return events.CloseStream(ctx, a.config.JetStream, a.replaced.Name())
}

// adopt makes the adopted stream the one that is read. No position moves meanwhile, so no projector can go further in the closed stream than
// the adopted one does.
func (a *adopter) adopt(ctx context.Context, tx pgx.Tx) error {
	if err := beginWritePause(ctx, tx); err != nil {
		return err
	}
	positions, err := store.Positions(ctx, tx.Conn(), liveSchema)
	if err != nil {
		return err
	}
	if err := a.adopted.verifyPositions(ctx, positions); err != nil {
		return err
	}
	if err := store.AdoptStream(ctx, tx, a.adopted.Identity(), a.adopted.History); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, raiseEpochsSQL); err != nil {
		return fmt.Errorf("raise the epochs: %w", err)
	}
	if !a.isOpen {
		if _, err := a.config.JetStream.UpdateStream(ctx, a.promoted); err != nil {
			return fmt.Errorf("stream %s: %w", a.adopted.Name(), err)
		}
	}
	a.isOpen = true
	return nil
}

// awaitMirror waits until the source has the message with a sequence, where it is a mirror.
func (s *source) awaitMirror(ctx context.Context, sequence uint64) error {
	if s.CachedInfo().Config.Mirror == nil {
		return nil
	}
	tick := time.NewTicker(mirrorTick)
	defer tick.Stop()
	for waited := time.Duration(0); ; waited += mirrorTick {
		now, err := s.Reopen(ctx, s.js)
		if err != nil {
			return err
		}
		info := now.CachedInfo()
		switch {
		case info.State.LastSeq >= sequence:
			return nil
		case waited > maxMirrorLag:
			return fmt.Errorf("mirror %s ends at sequence %d and did not get further to %d", s.Name(), info.State.LastSeq, sequence)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

const (
	mirrorTick = 50 * time.Millisecond
	// maxMirrorLag is longer than a server takes to ask the origin again after an interruption.
	maxMirrorLag = 60 * time.Second
)

// lastOf returns the highest sequence of positions.
func lastOf(positions map[int16]store.Position) (last uint64) {
	for _, p := range positions {
		last = max(last, p.Sequence)
	}
	return last
}
