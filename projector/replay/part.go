package replay

import "fmt"

// spooledPart is a part and the names of its files.
type spooledPart struct {
	Part
	done bool
}

func (p *spooledPart) divided() bool { return p.Slots > 1 }

func (p *spooledPart) slotCount() int { return max(p.Slots, 1) }

func (p *spooledPart) slotOf(hash uint64) int { return int(hash % uint64(p.slotCount())) }

func (p *spooledPart) prefix() string {
	return fmt.Sprintf("%s%d-%d-", namePrefix, p.Partition, p.Number)
}

func (p *spooledPart) slotName(slot int) string { return fmt.Sprintf("%sslot-%d", p.prefix(), slot) }

func (p *spooledPart) facetRefsName() string { return p.prefix() + "claims" }

func (p *spooledPart) pendingName() string { return p.prefix() + "pending" }

// movedName is the file of the records that were moved into a slot, and droppedName that of the sequences that were moved out of it.
func (p *spooledPart) movedName(slot int) string { return fmt.Sprintf("%smoved-%d", p.prefix(), slot) }

func (p *spooledPart) droppedName(slot int) string {
	return fmt.Sprintf("%sdropped-%d", p.prefix(), slot)
}

func (p *spooledPart) runName(piece int) string { return fmt.Sprintf("%srun-%d", p.prefix(), piece) }

// spoolNames are the names of the files to which is appended.
func (p *spooledPart) spoolNames() []string {
	names := []string{p.facetRefsName(), p.pendingName()}
	for slot := range p.slotCount() {
		names = append(names, p.slotName(slot))
	}
	return names
}
