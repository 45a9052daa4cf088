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

func (ref facetRef) appendTo(dst []byte) []byte {
	dst = append(dst, ref.key[:]...)
	for _, n := range []uint64{ref.message.Sequence, uint64(ref.message.StoredAt), uint64(ref.version), ref.owner, uint64(ref.recorded)} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	if ref.deleted {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func parseFacetRef(payload []byte) (facetRef, error) {
	p := parser{rest: payload}
	var ref facetRef
	copy(ref.key[:], p.take(len(ref.key)))
	ref.message = store.MessageID{Sequence: p.uint64(), StoredAt: events.Time(p.uint64())}
	ref.version, ref.owner, ref.recorded = int64(p.uint64()), p.uint64(), int64(p.uint64())
	ref.deleted = p.byte() == 1
	if p.damaged || len(p.rest) > 0 {
		return facetRef{}, errDamaged
	}
	return ref, nil
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
		ours := func(ref facetRef) bool { return binary.BigEndian.Uint64(ref.key[8:])%divisor == remainder }
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
		ref, err := parseFacetRef(payload)
		if err != nil || ref.message.Sequence > r.upTo || !ours(ref) {
			return err
		}
		return take(ref)
	})
}

func (r *resolution) states(ours func(facetRef) bool) (map[keyHash]facetState, error) {
	states := make(map[keyHash]facetState)
	err := r.eachFacetRef(ours, func(ref facetRef) error {
		state, found := states[ref.key]
		if !found {
			state.owner = ref.key.number()
		}
		switch {
		case r.decisions.DeadLetters[ref.message] != nil || state.known || ref.version <= state.deleted:
		case ref.deleted:
			state.deleted = ref.version
		default:
			state.owner, state.known = ref.owner, true
		}
		states[ref.key] = state
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
	return r.eachFacetRef(ours, func(ref facetRef) error {
		owner := states[ref.key].owner
		source := r.part.pendingName()
		if !ref.deleted {
			if ref.owner == owner {
				return nil
			}
			source = r.part.slotName(r.part.slotOf(ref.owner))
			if _, err := r.files.append(r.part.droppedName(r.part.slotOf(ref.owner)), func(dst []byte) []byte {
				return binary.BigEndian.AppendUint64(dst, ref.message.Sequence)
			}); err != nil {
				return err
			}
		}
		file, err := openOnce(sources, r.files.path(source))
		if err != nil {
			return err
		}
		moved, err := recordAt(file, ref.recorded, r.lengths[source])
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
