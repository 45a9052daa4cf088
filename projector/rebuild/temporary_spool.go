package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/replay"
	"callboard/projector/store"
)

// openTemporarySpool opens a spool in a folder of its own, which remove deletes. The targets are the live positions of the parts. bytes are
// those of the messages that are to be spooled.
func openTemporarySpool(
	c Config, prefix string, s *source, parts []part, onlyNamed bool, bytes int64,
) (spool *spooler, remove func() error, err error) {
	folder, err := os.MkdirTemp(c.Spool, prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("spool: %w; name another folder with --spool", err)
	}
	remove = func() error { return os.RemoveAll(folder) }
	if err := replay.CheckSpace(folder, bytes); err != nil {
		return nil, nil, errors.Join(asSpoolFull(err), remove())
	}
	plan := replay.Plan{Stream: s.History, OnlyNamed: onlyNamed, Targets: make(map[int16]uint64)}
	var subjects string
	if onlyNamed && inOnePartition(parts) {
		subjects = events.PartitionFilter(int(parts[0].target.Partition))
	}
	for _, p := range parts {
		plan.Parts = append(plan.Parts, replay.Part{PartID: p.id(), Systems: p.systems, Slots: p.slots})
		plan.Targets[p.target.Partition] = 0
		if hasPosition(p) {
			plan.Targets[p.target.Partition] = p.target.Sequence
		}
	}
	opened, err := replay.Open(folder, plan, nil)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return &spooler{Spool: opened, source: s, subjects: subjects, onRead: func(uint64) {}}, remove, nil
}

func inOnePartition(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { return p.target.Partition != parts[0].target.Partition })
}

// asSpoolFull is err, or an [ErrSpoolFull] if the spool's file system is full.
func asSpoolFull(err error) error {
	if replay.IsSpaceError(err) {
		return fmt.Errorf("%w: %w", ErrSpoolFull, err)
	}
	return err
}

// readClockCaps reads the recorded clock caps of the partitions of parts, which revise can change; nil: it doesn't.
func (s *spooler) readClockCaps(
	ctx context.Context, st *store.Store, parts []part, revise func(target store.Position, caps []fold.ClockCap) []fold.ClockCap,
) error {
	read := make(map[int16]bool)
	for _, p := range parts {
		partition := p.target.Partition
		if read[partition] {
			continue
		}
		read[partition] = true
		caps, err := st.ClockCaps(ctx, store.Position{Partition: partition, Stream: s.source.History})
		if err != nil {
			return err
		}
		if revise != nil {
			caps = revise(p.target, caps)
		}
		s.SetClockCaps(partition, fold.NewClockCaps(caps))
	}
	return nil
}

// readTo reads up to a sequence and reports its progress.
func (s *spooler) readTo(ctx context.Context, c Config, end uint64) error {
	silent := s.onRead
	defer func() { s.onRead = silent }()
	s.onRead = func(sequence uint64) { c.Progress(Progress{Step: StepRead, Done: int64(sequence), Total: int64(end)}) }
	return s.reach(ctx, end)
}

// foldTo folds a part up to a live position. It returns the corrections that the watermark there has not reached, which are not in the part.
func foldTo(ctx context.Context, s *spooler, st *store.Store, f *replay.PartFold, to store.Position) (pending fold.Corrections, err error) {
	decisions, err := st.Decisions(ctx, store.Position{Partition: to.Partition, Stream: s.source.History})
	if err != nil {
		return nil, err
	}
	pending = decisions.Corrections.After(to.Clock.Watermark)
	decisions.Corrections = decisions.Corrections.Until(to.Clock.Watermark)
	s.SetClockCaps(to.Partition, decisions.ClockCaps)
	if err := s.extend(ctx, to.Partition, to.Sequence); err != nil {
		return nil, err
	}
	return pending, f.UpTo(ctx, to.Sequence, decisions)
}
