package replay

import (
	"encoding/binary"
	"io"
	"os"

	"callboard/events"
	"callboard/projector/store"
)

// facetRef is what an event of a recording or an analysis says about the call or voicemail that it belongs to.
type facetRef struct {
	key      keyHash
	message  store.MessageID
	version  int64
	owner    uint64 // hash; 0 if deleted
	deleted  bool
	recorded int64 // where the event's record begins, in the file of its slot or, if deleted, of pending records
}

func (c facetRef) appendTo(dst []byte) []byte {
	dst = append(dst, c.key[:]...)
	for _, n := range []uint64{c.message.Sequence, uint64(c.message.StoredAt), uint64(c.version), c.owner, uint64(c.recorded)} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	if c.deleted {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func parseFacetRef(payload []byte) (facetRef, error) {
	p := parser{rest: payload}
	var c facetRef
	copy(c.key[:], p.take(len(c.key)))
	c.message = store.MessageID{Sequence: p.uint64(), StoredAt: events.Time(p.uint64())}
	c.version, c.owner, c.recorded = int64(p.uint64()), p.uint64(), int64(p.uint64())
	c.deleted = p.byte() == 1
	if p.damaged || len(p.rest) > 0 {
		return facetRef{}, errDamaged
	}
	return c, nil
}

const (
	facetRefBytes = frameHeader + 16 + 5*8 + 1
	// ownerBytes is how many bytes of memory the owner of a facet needs while its references are resolved.
	ownerBytes = 96
)

// resolution finds the true owner of each facet of a part: that of the first event that the fold can accept. From then on the fold refuses
// every other owner, so all events of the facet are folded where its true owner is.
type resolution struct {
	part      *spooledPart
	lengths   map[string]int64 // of the part's files
	files     *files
	upTo      uint64
	decisions store.Decisions
	memory    int64
}

// facetState is what the references of a facet say, up to one of them.
type facetState struct {
	owner   uint64 // hash; of the key if the owner isn't known
	known   bool
	deleted int64 // the highest version of the deletions
}

// run moves records into the slots in which they are folded.
func (r *resolution) run() error {
	bytes := r.lengths[r.part.facetRefsName()]
	divisor := uint64(max(bytes/facetRefBytes*ownerBytes/max(r.memory, 1), 0) + 1)
	for remainder := range divisor {
		ours := func(c facetRef) bool { return binary.BigEndian.Uint64(c.key[8:])%divisor == remainder }
		states, err := r.states(ours)
		if err != nil {
			return err
		}
		if err := r.move(ours, states); err != nil {
			return err
		}
	}
	return r.files.flush()
}

// eachFacetRef passes references to take, in the order of the stream.
func (r *resolution) eachFacetRef(ours func(facetRef) bool, take func(facetRef) error) error {
	name := r.part.facetRefsName()
	return eachFrame(r.files.path(name), r.lengths[name], func(payload []byte) error {
		c, err := parseFacetRef(payload)
		if err != nil || c.message.Sequence > r.upTo || !ours(c) {
			return err
		}
		return take(c)
	})
}

func (r *resolution) states(ours func(facetRef) bool) (map[keyHash]facetState, error) {
	states := make(map[keyHash]facetState)
	err := r.eachFacetRef(ours, func(c facetRef) error {
		state, found := states[c.key]
		if !found {
			state.owner = c.key.number()
		}
		switch {
		case r.decisions.DeadLetters[c.message] != nil || state.known || c.version <= state.deleted:
		case c.deleted:
			state.deleted = c.version
		default:
			state.owner, state.known = c.owner, true
		}
		states[c.key] = state
		return nil
	})
	return states, err
}

// move copies records that are not where their facet's owner is, and lists the originals as dropped.
func (r *resolution) move(ours func(facetRef) bool, states map[keyHash]facetState) error {
	sources := make(map[string]*os.File)
	defer func() {
		for _, file := range sources {
			_ = file.Close() // it was only read
		}
	}()
	return r.eachFacetRef(ours, func(c facetRef) error {
		owner := states[c.key].owner
		source := r.part.pendingName()
		if !c.deleted {
			if c.owner == owner {
				return nil
			}
			source = r.part.slotName(r.part.slotOf(c.owner))
			if _, err := r.files.append(r.part.droppedName(r.part.slotOf(c.owner)), func(dst []byte) []byte {
				return binary.BigEndian.AppendUint64(dst, c.message.Sequence)
			}); err != nil {
				return err
			}
		}
		file, err := openOnce(sources, r.files.path(source))
		if err != nil {
			return err
		}
		moved, err := recordAt(file, c.recorded, r.lengths[source])
		if err != nil {
			return err
		}
		moved.hash = owner
		_, err = r.files.append(r.part.movedName(r.part.slotOf(owner)), moved.appendTo)
		return err
	})
}

func openOnce(open map[string]*os.File, path string) (*os.File, error) {
	if open[path] == nil {
		file, err := os.Open(path) //nolint:gosec // a file of the spool
		if err != nil {
			return nil, err
		}
		open[path] = file
	}
	return open[path], nil
}

func recordAt(file *os.File, at, end int64) (record, error) {
	payload, err := readFrame(io.NewSectionReader(file, at, end-at), make([]byte, frameHeader), end-at)
	if err != nil {
		return record{}, err
	}
	return parseRecord(payload)
}
