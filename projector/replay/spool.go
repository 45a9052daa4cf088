package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Spool holds the messages of a plan's parts in files of a folder. One goroutine appends messages; others fold parts meanwhile, one
// goroutine each.
type Spool struct {
	dir         string
	plan        Plan
	fingerprint string

	mu         sync.Mutex // guards what follows
	files      *files
	sequence   uint64        // up to which the stream was read
	progress   chan struct{} // closed when the sequence rises
	partitions map[int16]*passed
	caps       map[int16]fold.ClockCaps
	parts      map[PartID]*spooledPart
	bySystem   map[int16]map[uuid.UUID]*spooledPart
	unnamed    map[int16]*spooledPart // that has the messages of phone systems that no part names
	decoder    events.Decoder
	err        error // of a write; nothing can be appended any more
}

// Open opens the spool of a plan in a folder, which it creates if needed. Where the folder has one of the same plan, its sequence says after
// which message to continue. Otherwise the folder's spool is deleted, and the stream is to be read from its beginning. Nothing is spooled
// for parts that are done. Only one process may use the folder.
func Open(dir string, plan Plan, done []PartID) (*Spool, error) {
	s, err := open(dir, plan, done)
	if err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, plan Plan, done []PartID) (*Spool, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	fingerprint, err := plan.fingerprint()
	if err != nil {
		return nil, err
	}
	s := &Spool{
		dir: dir, plan: plan, fingerprint: fingerprint, files: newFiles(dir), progress: make(chan struct{}),
		partitions: make(map[int16]*passed), caps: make(map[int16]fold.ClockCaps), parts: make(map[PartID]*spooledPart),
		bySystem: make(map[int16]map[uuid.UUID]*spooledPart), unnamed: make(map[int16]*spooledPart),
	}
	for _, p := range plan.Parts {
		s.add(&spooledPart{Part: p, done: slices.Contains(done, p.PartID)})
	}
	return s, s.resume()
}

func (s *Spool) add(p *spooledPart) {
	s.parts[p.PartID] = p
	partition := p.Partition
	if s.partitions[partition] == nil {
		s.partitions[partition] = &passed{}
		s.bySystem[partition] = make(map[uuid.UUID]*spooledPart)
	}
	for _, system := range p.Systems {
		s.bySystem[partition][system] = p
	}
	if before := s.unnamed[partition]; !s.plan.OnlyNamed && (before == nil || before.Systems != nil && p.Systems == nil) {
		s.unnamed[partition] = p
	}
}

// resume continues from the manifest, or from the beginning.
func (s *Spool) resume() error {
	m, err := readManifest(s.dir, s.fingerprint)
	if err != nil {
		return err
	}
	usable := false
	if m != nil {
		s.divide(m.Slots)
		if usable, err = m.cut(s.dir, s.doneNames()); err != nil {
			return err
		}
	}
	if !usable {
		return empty(s.dir, func(string) bool { return false })
	}
	s.sequence, s.partitions = m.Sequence, m.Partitions
	for name, length := range m.Files {
		s.files.byName[name] = &file{name: name, length: length, synced: true}
	}
	return nil
}

// divide sets the numbers of slots.
func (s *Spool) divide(divided []dividedPart) {
	for _, p := range s.parts {
		p.Slots = 1
	}
	for _, d := range divided {
		if p := s.parts[d.PartID]; p != nil {
			p.Slots = d.Slots
		}
	}
}

// doneNames returns the names of files of parts that are done.
func (s *Spool) doneNames() map[string]bool {
	names := make(map[string]bool)
	for _, p := range s.parts {
		if p.done {
			for _, name := range p.spoolNames() {
				names[name] = true
			}
		}
	}
	return names
}

// Sequence returns up to where the stream was read.
func (s *Spool) Sequence() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sequence
}

// SetClockCaps sets the recorded caps of a partition. They must be those of all its messages that are spooled from now on.
func (s *Spool) SetClockCaps(partition int16, caps fold.ClockCaps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps[partition] = caps
}

// Append spools messages, which follow each other in the stream. Those up to the spool's sequence, and those above the target of their
// partition, are left out. An error is final: the spool can only be deleted, or opened again.
func (s *Spool) Append(messages []events.StoredMessage) error {
	return s.change(func() error {
		for _, m := range messages {
			if m.Sequence <= s.sequence {
				continue
			}
			if err := s.append(m, true); err != nil {
				return err
			}
			s.sequence = m.Sequence
		}
		return nil
	})
}

// Extend spools messages of one partition: all that it has between what is spooled of it and a sequence above its target.
func (s *Spool) Extend(partition int16, messages []events.StoredMessage, upTo uint64) error {
	return s.change(func() error {
		for _, m := range messages {
			if err := s.append(m, false); err != nil {
				return err
			}
		}
		if at := s.partitions[partition]; at != nil {
			at.Extended = upTo
		}
		return nil
	})
}

// change spools messages, after which there is something to fold.
func (s *Spool) change(spool func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		if err := spool(); err != nil {
			s.err = fmt.Errorf("spool %s: %w", s.dir, err)
		}
	}
	if s.err == nil {
		s.signalProgress()
	}
	return s.err
}

// Spooled returns up to where a partition was read.
func (s *Spool) Spooled(partition int16) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sequence := s.sequence
	if target, limited := s.plan.Targets[partition]; limited {
		sequence = min(sequence, target)
	}
	if at := s.partitions[partition]; at != nil {
		sequence = max(sequence, at.Extended)
	}
	return sequence
}

// SkipTo says that the stream has no more messages up to a sequence.
func (s *Spool) SkipTo(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence = max(s.sequence, sequence)
	s.signalProgress()
}

func (s *Spool) signalProgress() {
	close(s.progress)
	s.progress = make(chan struct{})
}

// wait waits until the stream, or its messages of a partition, were read up to a sequence.
func (s *Spool) wait(ctx context.Context, partition int16, sequence uint64) error {
	for {
		s.mu.Lock()
		reached := s.sequence >= sequence || s.partitions[partition].Extended >= sequence
		progress, err := s.progress, s.err
		s.mu.Unlock()
		if reached || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-progress:
		}
	}
}

// append spools a message, unless it is above the target of its partition.
func (s *Spool) append(m events.StoredMessage, toTarget bool) error {
	partition, ok := events.SubjectPartition(m.Subject)
	at := s.partitions[int16(partition)]
	if !ok || at == nil {
		return nil
	}
	if target, limited := s.plan.Targets[int16(partition)]; toTarget && limited && m.Sequence > target {
		return nil
	}
	at.LastMessage, at.LastMessageAt = m.Sequence, events.TimeOf(m.StoredAt)
	at.Clock = max(at.Clock, s.caps[int16(partition)].StoredAt(m.Sequence, at.LastMessageAt))
	system := events.SubjectSystem(m.Subject)
	p := s.bySystem[int16(partition)][system]
	if p == nil {
		p = s.unnamed[int16(partition)]
	}
	if p == nil || p.done {
		return nil
	}
	r := record{StoredMessage: m, clock: at.Clock}
	if !p.divided() {
		r.hash = hashOf(system.String()).number()
		_, err := s.files.append(p.slotName(0), r.appendTo)
		return err
	}
	return s.appendDivided(p, r)
}

// appendDivided spools a record of a part that is divided into slots.
func (s *Spool) appendDivided(p *spooledPart, r record) error {
	to, e := routeOf(&s.decoder, r.Message)
	r.hash, r.reference = to.hash, to.all
	if to.all {
		for slot := range p.Slots {
			if _, err := s.files.append(p.slotName(slot), r.appendTo); err != nil {
				return err
			}
		}
		return nil
	}
	name := p.slotName(p.slotOf(r.hash))
	if to.facet && e.Deleted() {
		name = p.pendingName()
	}
	at, err := s.files.append(name, r.appendTo)
	if err != nil || !to.facet {
		return err
	}
	c := facetRef{
		key: facetKey(e.Identity), message: store.NewMessageID(r.Sequence, r.StoredAt),
		version: e.Version, owner: to.hash, deleted: e.Deleted(), recorded: at,
	}
	_, err = s.files.append(p.facetRefsName(), c.appendTo)
	return err
}

// Checkpoint writes everything to disk, so that a spool that is opened again continues from here.
func (s *Spool) Checkpoint() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if err := s.checkpoint(); err != nil {
		s.err = fmt.Errorf("spool %s: %w", s.dir, err)
	}
	return s.err
}

func (s *Spool) checkpoint() error {
	if err := s.files.sync(); err != nil {
		return err
	}
	m := manifest{
		Format: manifestFormat, Plan: s.fingerprint, Sequence: s.sequence, Partitions: s.partitions, Files: make(map[string]int64),
	}
	for name, file := range s.files.byName {
		m.Files[name] = file.length
	}
	for _, p := range s.parts {
		if p.divided() {
			m.Slots = append(m.Slots, dividedPart{p.PartID, p.Slots})
		}
	}
	return m.write(s.dir)
}

// Done deletes a part's files. Nothing is spooled for it any more.
func (s *Spool) Done(id PartID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[id]
	p.done = true
	return s.files.remove(p.spoolNames()...)
}

// Delete deletes the spool, and the folder unless it has other files. It can't be used any more.
func (s *Spool) Delete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.New("the spool was deleted")
	s.signalProgress()
	if err := empty(s.dir, func(string) bool { return false }); err != nil {
		return err
	}
	_ = os.Remove(s.dir) // refused where others have files in it
	return nil
}

// snapshot is what a spool has of a part at one moment.
type snapshot struct {
	lengths map[string]int64 // of the part's files, all of them written
	at      passed           // the partition
}

// snapshot writes the records of a part to its files.
func (s *Spool) snapshot(p *spooledPart) (snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := snapshot{lengths: make(map[string]int64), at: *s.partitions[p.Partition]}
	if s.err != nil || p.done {
		return snap, errors.Join(s.err, errDone(p))
	}
	for _, name := range p.spoolNames() {
		if file := s.files.byName[name]; file != nil {
			if err := s.files.flushFile(file); err != nil {
				return snap, err
			}
			snap.lengths[name] = file.length
		}
	}
	return snap, nil
}

func errDone(p *spooledPart) error {
	if p.done {
		return fmt.Errorf("part %d of partition %d was deleted", p.Number, p.Partition)
	}
	return nil
}
